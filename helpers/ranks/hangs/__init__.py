"""From the notes of all ranks to one error that a person can act on; `watch` for any torch.distributed job. Chapter: hangs."""

from .watching import main, watch

__all__ = ["main", "watch"]
