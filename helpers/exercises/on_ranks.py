"""A reader's answer on real ranks: what fails there is an answer that is not right yet, not a traceback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from helpers.ranks import RankError, Ranks

from .answer import NotYetError


def on_ranks(
    ranks: Ranks | int, fn: Callable, *args: object, where: str = "", deadline: float = 20.0, limit: float | None = None
) -> list:
    """fn(*args) on a pool, or on as many ranks of its own, over Gloo; results in rank order.

    deadline: seconds in one collective, of ranks of its own. limit: seconds in all, as Ranks.run has it. NotYetError with the
    ranks' report, after `where`, for what hangs, dies or raises.
    """
    try:
        with _pool(ranks, deadline) as pool:
            return pool.run(fn, *args, limit=limit)
    except RankError as error:
        raise NotYetError(f"{where}: {error}" if where else str(error)) from None


@contextmanager
def _pool(ranks: Ranks | int, deadline: float) -> Iterator[Ranks]:
    if isinstance(ranks, int):
        with Ranks(ranks, backend="gloo", timeout=deadline) as own:
            yield own
    else:
        yield ranks
