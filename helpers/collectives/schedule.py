"""A collective algorithm as data: who sends which chunk to whom, step by step, and what the receiver does with it.

One schedule value is proved (`check`), priced (`price`), run on real ranks (`helpers.ranks.execute`), animated (`helpers.view`)
and printed (`str`). Chapters: ring, trees, hierarchy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain, zip_longest
from operator import eq

from .transfers import (
    ARROWS,
    Op,
    ScheduleError,
    Step,
    Transfer,
    are_ids,
    as_step,
    in_range,
    one_word,
    transfers,
    whole,
)


@dataclass(frozen=True)
class Schedule:
    """Steps of transfers among `nranks` ranks (and `nswitches` switches, ids from nranks on) over `nchunks` chunk slots.

    Chunk c lives in the same slot on every rank: `tensor_split(buffer, nchunks)[c]`. A composed schedule has no collective
    until `.named(...)`. Raises ScheduleError on a rank or chunk out of range, an empty step, or two writes to one slot in a step.
    """

    collective: str | None
    algorithm: str | None
    nranks: int
    nchunks: int
    steps: tuple[Step, ...] = ()
    root: int | None = None
    nswitches: int = 0

    def __post_init__(self) -> None:
        self._validate_header()
        object.__setattr__(self, "steps", tuple(map(as_step, self.steps)))
        self._validate_steps()

    @property
    def registers(self) -> bool:
        """One switch for every rank: these are no switches but the ranks' own registers, as in one-shot; place P + r is rank r's."""
        return self.nswitches == self.nranks > 1

    def _validate_header(self) -> None:
        for name, least in (("nranks", 1), ("nchunks", 1), ("nswitches", 0)):
            whole(name, getattr(self, name), least)
        if self.root is not None:
            in_range("root", self.root, self.nranks, "")
        for name in ("collective", "algorithm"):
            if getattr(self, name) is not None:
                one_word(name, getattr(self, name))

    def _with(self, **changes: object) -> Schedule:
        """The same size with other names, or with steps that stood in valid schedules of this size: not looked at again."""
        made = object.__new__(Schedule)
        for field in fields(self):
            object.__setattr__(made, field.name, changes.get(field.name, getattr(self, field.name)))
        made._validate_header()
        return made

    def _validate_steps(self) -> None:
        for number, step in enumerate(self.steps, 1):
            if not self._is_sound(step):
                self._validate(number, step)

    def _is_sound(self, step: Step) -> bool:
        """Whether nothing at all is wrong with a step, told from its columns at once: `_validate` says what is."""
        if not step:
            return False
        src, dst, chunk, op = zip(*step, strict=True)
        return (
            are_ids((*src, *dst), self.nranks + self.nswitches)
            and are_ids(chunk, self.nchunks)
            and ARROWS.keys() >= {*op}
            and True not in map(eq, src, dst)
            and self._writes_once(dst, chunk, op)
        )

    def _writes_once(self, dst: Sequence[int], chunk: Sequence[int], op: Sequence[Op]) -> bool:
        """One writer a slot; but a switch adds up all that comes in. Slots are counted place by place, so those of switches come last."""
        slots = [place * self.nchunks + c for place, c in zip(dst, chunk, strict=True)]
        if len(set(slots)) == len(slots):
            return True
        switches = self.nranks * self.nchunks
        added = {slot for slot, op in zip(slots, op, strict=True) if slot >= switches and op == "reduce"}
        alone = [slot for slot, op in zip(slots, op, strict=True) if slot < switches or op == "copy"]
        return len({*alone, *added}) == len(alone) + len(added)

    def _validate(self, number: int, step: Step) -> None:
        if not step:
            raise ScheduleError(f"step {number} sends nothing: expected at least one transfer")
        written: dict[tuple[int, int], Transfer] = {}
        for t in step:
            self._validate_transfer(number, t)
            other = written.get((t.dst, t.chunk))
            if other and not (t.dst >= self.nranks and t.op == other.op == "reduce"):
                raise ScheduleError(
                    f"step {number} writes chunk {t.chunk} of rank {t.dst} twice ({other} and {t}): one writer per slot and step"
                )
            written.setdefault((t.dst, t.chunk), t)

    def _validate_transfer(self, number: int, t: Transfer) -> None:
        where = f" in step {number}, {t.chunk}:{t.src}→{t.dst}"
        places = self.nranks + self.nswitches
        for name, value, size in (("src", t.src, places), ("dst", t.dst, places), ("chunk", t.chunk, self.nchunks)):
            if type(value) is not int or not 0 <= value < size:
                in_range(name, value, size, where)
        if t.op not in ARROWS:
            raise ScheduleError(f'op must be "copy" or "reduce", got {t.op!r}{where}')
        if t.src == t.dst:
            raise ScheduleError(f"rank {t.src} sends chunk {t.chunk} to itself in step {number}")

    # algebra ---------------------------------------------------------------------------------------------------------
    def __add__(self, other: Schedule) -> Schedule:
        """First this, then that."""
        return self._composed(other, self.steps + other.steps if isinstance(other, Schedule) else ())

    def __or__(self, other: Schedule) -> Schedule:
        """Both at once, step beside step; they must not touch the same slot."""
        return beside(self, other)

    def _composed(self, other: object, steps: tuple[Step, ...]) -> Schedule:
        if not isinstance(other, Schedule):
            raise ScheduleError(f"a schedule is composed with a schedule, got {other!r}")
        for name in ("nranks", "nchunks", "nswitches"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise ScheduleError(f"cannot compose: {name} is {mine} in one schedule and {theirs} in the other")
        return self._bare(steps)

    def _bare(self, steps: tuple[Step, ...], **sizes: int) -> Schedule:
        return self._with(collective=None, algorithm=None, root=None, steps=steps, **sizes)

    def on(
        self, ranks: Sequence[int], nranks: int, chunks: Sequence[int] | None = None, nchunks: int | None = None
    ) -> Schedule:
        """The same moves inside a larger group: inner rank i becomes ranks[i], inner chunk i becomes chunks[i]."""
        whole("nranks", nranks, self.nranks)
        chunks = range(self.nchunks) if chunks is None else chunks
        for name, ids, size in (("ranks", ranks, self.nranks), ("chunks", chunks, self.nchunks)):
            if len(ids) != size or len(set(ids)) != size:
                raise ScheduleError(f"{name} must name {size} different ids, got {list(ids)}")
        outer = [*ranks, *range(nranks, nranks + self.nswitches)]
        steps = transfers(((outer[s], outer[d], chunks[c], op) for s, d, c, op in step) for step in self.steps)
        made = self._bare(steps, nranks=nranks, nchunks=nchunks or max(self.nchunks, max(chunks) + 1))
        if not (are_ids(ranks, nranks) and are_ids(chunks, made.nchunks)):
            made._validate_steps()
        return made

    def cut(self, pieces: int) -> Schedule:
        """The same moves on a finer buffer: every chunk c becomes the chunks c * pieces to (c + 1) * pieces - 1, moved together."""
        whole("pieces", pieces, 1)
        cut = [range(c * pieces, (c + 1) * pieces) for c in range(self.nchunks)]
        steps = transfers(((s, d, piece, op) for s, d, c, op in step for piece in cut[c]) for step in self.steps)
        return self._bare(steps, nchunks=self.nchunks * pieces)

    def backwards(self, op: Op) -> Schedule:
        """The same moves read from the end, every arrow turned round: with "reduce", a broadcast becomes a reduce."""
        made = self._bare(transfers(((d, s, c, op) for s, d, c, _ in step) for step in reversed(self.steps)))
        made._validate_steps()
        return made

    def named(self, collective: str, algorithm: str, root: int | None = None) -> Schedule:
        """The same steps, with the collective that they claim to be: what `check` holds them to."""
        return self._with(collective=collective, algorithm=algorithm, root=root)

    # questions -------------------------------------------------------------------------------------------------------
    def slots(self) -> set[tuple[int, int]]:
        """Every (rank, chunk) that some transfer reads or writes."""
        return {divmod(slot, self.nchunks) for slot in self._touched()}

    def _touched(self) -> set[int]:
        """The slots, counted rank by rank."""
        n = self.nchunks
        return {slot for step in self.steps for s, d, c, _ in step for slot in (s * n + c, d * n + c)}

    def sent(self) -> list[int]:
        """Chunks that each rank sends in all, in rank order."""
        return _count((t.src for step in self.steps for t in step), self.nranks + self.nswitches)[: self.nranks]

    def received(self) -> list[int]:
        """Chunks that each rank receives in all, in rank order."""
        return _count((t.dst for step in self.steps for t in step), self.nranks + self.nswitches)[: self.nranks]

    # text ------------------------------------------------------------------------------------------------------------
    def __str__(self) -> str:
        root = "-" if self.root is None else self.root
        switches = f" nswitches={self.nswitches}" if self.nswitches else ""
        name = f"{self.collective or '-'} {self.algorithm or '-'}"
        header = f"{name} nranks={self.nranks} nchunks={self.nchunks} root={root}{switches}"
        return "\n".join([header, *(" ".join(map(str, step)) for step in self.steps)])

    __repr__ = __str__

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """The reverse of str: `Schedule.parse(str(s)) == s`."""
        header, *lines = [line.strip() for line in text.strip().splitlines()] or [""]
        found = re.fullmatch(
            r"(\S+) (\S+) nranks=(\d+) nchunks=(\d+) root=(\d+|-)(?: nswitches=(\d+))?", header, re.ASCII
        )
        if not found:
            raise ScheduleError(
                f'the first line reads "all_reduce ring nranks=3 nchunks=3 root=-" or the like, got {header!r}'
            )
        collective, algorithm, root = (None if found[k] == "-" else found[k] for k in (1, 2, 5))
        steps = tuple(tuple(map(Transfer.parse, line.split())) for line in lines if line)
        root = None if root is None else int(root)
        return cls(collective, algorithm, int(found[3]), int(found[4]), steps, root, int(found[6] or 0))


def beside(*schedules: Schedule) -> Schedule:
    """All at once, step beside step, as `|` does for two; no two may touch the same slot. Chapter: hierarchy."""
    first, *others = schedules
    composed, used = first._composed(first, ()), first._touched()
    for other in others:
        first._composed(other, ())
        slots = other._touched()
        if shared := used & slots:
            rank, chunk = divmod(min(shared), first.nchunks)
            raise ScheduleError(f"| wants disjoint slots, but both schedules use chunk {chunk} of rank {rank}")
        used |= slots
    rows = zip_longest(*(s.steps for s in schedules), fillvalue=())
    return composed._with(steps=tuple(tuple(chain.from_iterable(row)) for row in rows))


def _count(ids: Iterable[int], size: int) -> list[int]:
    counts = [0] * size
    for i in ids:
        counts[i] += 1
    return counts
