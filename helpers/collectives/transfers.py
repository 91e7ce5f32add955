"""Transfers, and steps of them: what a schedule is made of, by hand or by the million. Chapter: ring."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from operator import itemgetter
from typing import Literal, NamedTuple

Op = Literal["copy", "reduce"]
ARROWS: dict[Op, str] = {"copy": "→", "reduce": "⇒"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
_OPS = {arrow: op for op, arrow in ARROWS.items()}


class ScheduleError(ValueError):
    """A schedule that cannot be, or does not do what its collective promises. The message names the place."""


class Transfer(NamedTuple):
    """Rank `src` sends chunk `chunk` to rank `dst`, which overwrites its own ("copy") or adds to it ("reduce")."""

    src: int
    dst: int
    chunk: int
    op: Op = "copy"

    def __str__(self) -> str:
        return f"{self.chunk}:{self.src}{ARROWS[self.op]}{self.dst}"

    @classmethod
    def parse(cls, text: str) -> Transfer:
        """The reverse of str: "2:0⇒1"."""
        found = re.fullmatch(r"(\d+):(\d+)([→⇒])(\d+)", text, re.ASCII)
        if not found:
            raise ScheduleError(
                f'a transfer is written "chunk:src⇒dst" (adds) or "chunk:src→dst" (overwrites), got {text!r}'
            )
        return cls(int(found[2]), int(found[4]), int(found[1]), _OPS[found[3]])


Row = tuple[int, int, int, Op]  # a transfer's fields
Step = tuple[Transfer, ...]  # every transfer of a step reads what the step before left


_transfer = partial(tuple.__new__, Transfer)  # of a row, all of whose fields are told


def transfers(steps: Iterable[Iterable[Row]]) -> tuple[Step, ...]:
    """Steps of transfers, of a builder's plain rows."""
    return tuple(tuple(map(_transfer, step)) for step in steps)


def by_sender(steps: Iterable[Iterable[Row]]) -> tuple[Step, ...]:
    """The same of a builder that follows chunks, as schedules are printed: in each, ranks send in the order of their numbers."""
    return transfers(sorted(step, key=itemgetter(0)) for step in steps)


def as_step(step: Iterable[Transfer | Row]) -> Step:
    if type(step) is tuple and {*map(type, step)} == {Transfer}:
        return step
    return tuple(t if type(t) is Transfer else Transfer(*t) for t in step)


def whole(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ScheduleError(f"{name} must be a whole number >= {least}, got {value!r}")


def one_word(name: str, value: object) -> None:
    """A name travels in texts, links and copied cells, so it is made of what means nothing there; "-" stands for none."""
    if not (isinstance(value, str) and NAME.fullmatch(value)):
        raise ScheduleError(
            f'{name} must be one word of at most 64 letters, digits and "_.+-", like "two-rings", got {value!r}'
        )


def in_range(name: str, value: object, size: int, where: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < size:
        raise ScheduleError(f"{name} must lie in 0..{size - 1}, got {value!r}{where}")


def are_ids(ids: Iterable[int], size: int) -> bool:
    """Whether all are whole numbers in 0..size - 1."""
    return {*map(type, ids)} == {int} and min(few := {*ids}) >= 0 and max(few) < size
