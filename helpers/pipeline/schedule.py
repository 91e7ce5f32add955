"""A pipeline's schedule as data: for every rank, its actions in order. Chapter: pipeline.

One value is proved (`dry_run`), timed (`timeline`), run on real ranks (`helpers.parallel.pipeline`), drawn, and printed (`str`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from helpers.collectives import ScheduleError
from helpers.collectives.schedule import one_word

from .action import KINDS, Action

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
        """The reverse of str: a header, then a line of actions for each rank. ScheduleError for anything else."""
        first, *lines = text.strip("\n").split("\n")
        found = HEADER.fullmatch(first.strip())
        if not found:
            raise ScheduleError(f'the first line is "1f1b nranks=4 nmicrobatches=8 nstages=4" or alike, got {first!r}')
        programs = tuple(tuple(map(Action.parse, line.split())) for line in lines)
        return cls(found[1], int(found[2]), int(found[3]), int(found[4]), programs)


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
