"""`python -m helpers.ranks.hangs SCRIPT`: hang reports in any torch.distributed job. Chapter: hangs."""

from .watching import main

main()
