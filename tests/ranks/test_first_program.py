"""The program on the page `setup` prints what its comment says."""

import re
from contextlib import nullcontext

import helpers.ranks


def test_the_first_program_prints_what_it_says(four, root, monkeypatch, capsys):
    program = re.search(r"```python\n(from helpers.*?)```", (root / "book/setup.md").read_text(), re.S)[1]
    monkeypatch.setattr(helpers.ranks, "Ranks", lambda: nullcontext(four))
    exec(program, {"__name__": "__main__"})
    assert capsys.readouterr().out.strip() == re.search(r"print.*# on four ranks (.*)", program)[1]
