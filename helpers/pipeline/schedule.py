"""A pipeline's schedule as data: for every rank its actions, in order. Chapter: pipeline.

An action is to compute, to send or receive, or to gather and free a stage's shards. Kinds and text are those of
torch.distributed.pipelining, so "2F0" is stage 2's forward of microbatch 0 here and there, and "2UNSHARD" gathers stage 2. What is true
of a kind stands in its row of KINDS, and nowhere else. The paper on zero bubbles (arXiv 2401.10241) calls B what is I here.

One schedule is proved (`dry_run`), timed (`timeline`), run on real ranks (`helpers.parallel.pipeline`), drawn, and printed (`str`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from helpers.collectives import ScheduleError
from helpers.collectives.transfers import one_word


class Kind(NamedTuple):
    """deed: in words. needs: (kind, how many stages on) of what it takes, for the same microbatch. to: how many stages on its result
    goes, or the other end of a message is. sends: the message that carries the result to another rank. takes: parts of `Times`, where
    it computes. holds: what it adds to the microbatches held for their backward, and to those held for their weights alone. does: other
    kinds that are done with it.
    """

    deed: str
    needs: tuple[tuple[str, int], ...] = ()
    to: int = 0
    sends: str = ""
    takes: tuple[str, ...] = ()
    holds: tuple[int, int] = (0, 0)
    does: tuple[str, ...] = ()


KINDS = {
    "F": Kind("forward", (("F", -1),), +1, "SEND_F", ("forward",), (1, 0)),
    "B": Kind("backward", (("F", 0), ("I", +1)), -1, "SEND_B", ("input", "weight"), (-1, 0), ("I", "W")),
    # What the stage before waits for; the weights' part comes after it, and nobody waits for that before the step.
    "I": Kind("the input's gradient", (("F", 0), ("I", +1)), -1, "SEND_B", ("input",), (-1, 1)),
    "W": Kind("the weights' gradient", (("I", 0),), takes=("weight",), holds=(0, -1)),
    # A send has a receive of the stage at its other end.
    "SEND_F": Kind("the output goes to the next stage", (("F", 0),), +1),
    "RECV_F": Kind("the output of the stage before comes", to=-1),
    "SEND_B": Kind("the input's gradient goes to the stage before", (("I", 0),), -1),
    "RECV_B": Kind("the gradient comes from the next stage", to=+1),
    # Of a stage whose parameters are sharded (FSDP), without a microbatch.
    "UNSHARD": Kind("its parameters are gathered"),
    "RESHARD": Kind("what was gathered is freed"),
    "REDUCE_GRAD": Kind("its gradients, added up over the microbatches, are reduced"),
}
SHARDS = ("UNSHARD", "RESHARD", "REDUCE_GRAD")
ACTION = re.compile(r"(\d+)([A-Z_]+)(\d*)", re.ASCII)


class Action(NamedTuple):
    """What is done (a kind of KINDS), for which stage, for which microbatch; None for what is done for all of them (SHARDS)."""

    kind: str
    stage: int
    microbatch: int | None = None

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{'' if self.microbatch is None else self.microbatch}"

    @classmethod
    def parse(cls, text: str) -> Action:
        """The reverse of str: "2SEND_F0"."""
        found = ACTION.fullmatch(text)
        if not found or found[2] not in KINDS or (found[2] in SHARDS) == bool(found[3]):
            raise ScheduleError(
                f'an action is written stage, kind, microbatch, as "2F0", with a kind of {", ".join(KINDS)}'
                f" (the last {len(SHARDS)} without a microbatch); got {text!r}"
            )
        return cls(found[2], int(found[1]), int(found[3]) if found[3] else None)

    @property
    def computes(self) -> bool:
        return bool(KINDS[self.kind].takes)

    @property
    def neighbour(self) -> int:
        """Of a message: the stage at its other end. Of a forward or a backward: the stage that waits for it."""
        return self.stage + KINDS[self.kind].to


Program = tuple[Action, ...]
HEADER = re.compile(r"(\S+) nranks=(\d+) nmicrobatches=(\d+) nstages=(\d+)", re.ASCII)


@dataclass(frozen=True)
class PipelineSchedule:
    """What each of `nranks` ranks does, in order, with `nmicrobatches` microbatches and `nstages` stages.

    Stage s lives on rank s % nranks: with nstages = v * nranks a rank has v stages, far from each other in the model, and
    microbatches pass all ranks v times. ScheduleError where nranks does not divide nstages, where a program is missing, and for
    an action whose stage or microbatch does not exist or is another rank's, and for a name of more than one plain word. Whether
    all of it is there, and in a possible order, `dry_run` says.
    """

    name: str
    nranks: int
    nmicrobatches: int
    nstages: int
    programs: tuple[Program, ...]

    def __post_init__(self) -> None:
        one_word("name", self.name)
        for name in ("nranks", "nmicrobatches", "nstages"):
            whole(name, getattr(self, name))
        if self.nstages % self.nranks:
            raise ScheduleError(
                f"every rank has equally many stages: nstages is a multiple of nranks={self.nranks}, got {self.nstages}"
            )
        if len(self.programs) != self.nranks:
            raise ScheduleError(f"one program for each of {self.nranks} ranks, got {len(self.programs)}")
        for rank, program in enumerate(self.programs):
            for action in program:
                self._validate(rank, action)

    def _validate(self, rank: int, action: Action) -> None:
        if not 0 <= action.stage < self.nstages or not 0 <= (action.microbatch or 0) < self.nmicrobatches:
            raise ScheduleError(
                f"rank {rank} has {action}: stages are 0 to {self.nstages - 1}, microbatches 0 to {self.nmicrobatches - 1}"
            )
        if self.owner(action.stage) != rank:
            raise ScheduleError(
                f"rank {rank} has {action}: stage {action.stage} lives on rank {self.owner(action.stage)}"
            )

    def owner(self, stage: int) -> int:
        """The rank of a stage."""
        return stage % self.nranks

    def stages(self, rank: int) -> range:
        """A rank's stages, in the order in which microbatches pass."""
        return range(rank, self.nstages, self.nranks)

    @property
    def nvirtual(self) -> int:
        """v: stages per rank."""
        return self.nstages // self.nranks

    @cached_property
    def computed(self) -> tuple[Program, ...]:
        """The programs without their messages."""
        return tuple(tuple(a for a in program if a.computes) for program in self.programs)

    @property
    def splits(self) -> bool:
        """Whether backward is done in two parts, I and W."""
        return any(KINDS[a.kind].holds[1] for program in self.programs for a in program)

    def travels(self, stage: int, neighbour: int) -> bool:
        """Whether what one stage makes for another has to be sent: both exist, on different ranks."""
        return 0 <= neighbour < self.nstages and self.owner(stage) != self.owner(neighbour)

    def __str__(self) -> str:
        header = f"{self.name} nranks={self.nranks} nmicrobatches={self.nmicrobatches} nstages={self.nstages}"
        return "\n".join([header, *(" ".join(map(str, program)) for program in self.programs)])

    @classmethod
    def parse(cls, text: str) -> PipelineSchedule:
        """The reverse of str: a header, then a line of actions for each rank. ScheduleError for anything else.

        Also the CSV that torch's schedules write (`_dump_csv`): no header, and commas between.
        """
        first, *lines = text.strip().split("\n")
        found = HEADER.fullmatch(first.strip())
        if not found and not ACTION.match(first.lstrip(" ,")):
            raise ScheduleError(f'the first line is "1f1b nranks=4 nmicrobatches=8 nstages=4" or alike, got {first!r}')
        rows = lines if found else [first, *lines]
        programs = tuple(tuple(map(Action.parse, row.replace(",", " ").split())) for row in rows)
        if found:
            return cls(found[1], int(found[2]), int(found[3]), int(found[4]), programs)
        every = [action for row in programs for action in row]
        nmicrobatches, nstages = 1 + max(a.microbatch or 0 for a in every), 1 + max(a.stage for a in every)
        return cls("pasted", len(programs), nmicrobatches, nstages, programs)


def whole(name: str, value: object, least: int = 1) -> int:
    """`value`, where it is a whole number from `least` on; else ScheduleError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ScheduleError(f"{name} is a whole number from {least} on, got {value!r}")
    return value


def split(nlayers: int, nstages: int) -> list[range]:
    """The layers of every stage: as equal as they go, the longer ones first. ScheduleError for a stage without layers."""
    whole("nlayers", nlayers)
    if whole("nstages", nstages) > nlayers:
        raise ScheduleError(
            f"{nstages} stages of {nlayers} layers leave a stage without layers: take at most {nlayers} stages, "
            f"or at least {nstages} layers"
        )
    each, more = divmod(nlayers, nstages)
    begins = [s * each + min(s, more) for s in range(nstages + 1)]
    return [range(begins[s], begins[s + 1]) for s in range(nstages)]
