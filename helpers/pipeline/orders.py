"""The four schedules: in which order each rank computes; FSDP beside them; and a schedule that a reader writes. Chapter: pipeline.

Each function returns one rank's forwards and backwards; `dry_run.with_messages` adds what is sent. Each was held against its
paper's figure, and against the order that torch.distributed.pipelining builds (tests).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from helpers.collectives import ScheduleError

from .dry_run import dry_run, with_messages
from .schedule import Action, PipelineSchedule, Program, whole

Order = Callable[[int, int, int, int], list[Action]]  # rank, nranks, nmicrobatches, nvirtual
AHEAD = 3  # stages that torch gathers at once: one goes forward, one backward, and the next one comes


@dataclass(frozen=True)
class Builder:
    """A schedule of the table: called with sizes it gives a PipelineSchedule. source: the paper; torch: its class there.

    ahead: how many stages that class gathers at once, 0 where it leaves it to FSDP.
    """

    name: str
    title: str
    order: Order
    source: str
    torch: str
    interleaves: bool = False
    ahead: int = AHEAD

    def __call__(self, nranks: int, nmicrobatches: int, nvirtual: int | None = None) -> PipelineSchedule:
        """nvirtual: stages per rank, by default 2 where it interleaves and 1 elsewhere. ScheduleError for sizes that do not go."""
        return with_messages(self.bare(nranks, nmicrobatches, nvirtual))

    def bare(self, nranks: int, nmicrobatches: int, nvirtual: int | None = None) -> PipelineSchedule:
        """The computations alone."""
        whole("nranks", nranks)
        whole("nmicrobatches", nmicrobatches)
        nvirtual = whole("nvirtual", (2 if self.interleaves else 1) if nvirtual is None else nvirtual)
        self._validate(nranks, nmicrobatches, nvirtual)
        orders = tuple(tuple(self.order(rank, nranks, nmicrobatches, nvirtual)) for rank in range(nranks))
        return PipelineSchedule(self.name, nranks, nmicrobatches, nranks * nvirtual, orders)

    def _validate(self, nranks: int, nmicrobatches: int, nvirtual: int) -> None:
        if not self.interleaves and nvirtual != 1:
            raise ScheduleError(f'{self.name} has one stage per rank, got nvirtual={nvirtual}: take "interleaved"')
        if self.interleaves and nmicrobatches % nranks:
            below, above = nmicrobatches // nranks * nranks, (nmicrobatches // nranks + 1) * nranks
            near = f"{below} or {above}" if below else f"{above}"
            raise ScheduleError(
                f"{self.name} wants a multiple of {nranks} ranks as microbatches, got {nmicrobatches}: take {near}"
            )


def gpipe(rank: int, nranks: int, nmicrobatches: int, nvirtual: int = 1) -> list[Action]:
    """All forwards, then all backwards (Huang et al. 2019, figure 2c).

    The paper's figure takes the backwards from the last microbatch to the first; here, as in torch, they come in order. The bubble
    and what waits are the same. The paper recomputes activations in the backward; here nothing is recomputed.
    """
    return [Action(kind, rank, k) for kind in ("F", "B") for k in range(nmicrobatches)]


def one_forward_one_backward(rank: int, nranks: int, nmicrobatches: int, nvirtual: int = 1) -> list[Action]:
    """As many forwards as there are stages behind this one, then one forward and one backward in turn (Narayanan et al. 2021, 2.2.1).

    PipeDream-Flush of the same authors is this order: all ranks wait for the step's end, so weights are never old.
    """
    warm = min(nranks - rank - 1, nmicrobatches)
    return _in_turn([[Action("F", rank, k)] for k in range(nmicrobatches)], _backwards("B", rank, nmicrobatches), warm)


def interleaved(rank: int, nranks: int, nmicrobatches: int, nvirtual: int = 2) -> list[Action]:
    """1F1B with v stages per rank, nranks microbatches at a time through each of them (Narayanan et al. 2021, 2.2.2).

    Warm-up: (v - 1) * nranks forwards until the rank's last stage has its first microbatch, and 2 for each rank behind this one:
    a forward there and back. Megatron-LM, get_pp_rank_microbatches, at d98e8a6, does the same; older versions made everything a
    warm-up where nmicrobatches equals nranks.
    """
    virtual = [_virtual(k, nranks, nvirtual) for k in range(nmicrobatches * nvirtual)]
    forwards = [[Action("F", chunk * nranks + rank, k)] for chunk, k in virtual]
    backwards = [[Action("B", (nvirtual - 1 - chunk) * nranks + rank, k)] for chunk, k in virtual]
    warm = min((nvirtual - 1) * nranks + 2 * (nranks - rank - 1), len(virtual))
    return _in_turn(forwards, backwards, warm)


def zero_bubble(rank: int, nranks: int, nmicrobatches: int, nvirtual: int = 1) -> list[Action]:
    """ZB-H1: 1F1B with the backward in two parts, where rank r does its weights r microbatches late (Qi et al. 2024, 2.1, figure 3).

    The gradient goes back sooner, and the weights that were left fill the wait at the end. On every rank at most nranks
    microbatches hold memory, what rank 0 of 1F1B holds too.
    """
    warm = min(nranks - rank - 1, nmicrobatches)
    backwards = _backwards("I", rank, nmicrobatches)
    for k in range(nmicrobatches):
        if k >= rank:
            backwards[k].append(Action("W", rank, k - rank))
    late = [Action("W", rank, k) for k in range(max(nmicrobatches - rank, 0), nmicrobatches)]
    return _in_turn([[Action("F", rank, k)] for k in range(nmicrobatches)], backwards, warm) + late


def _backwards(kind: str, rank: int, nmicrobatches: int) -> list[list[Action]]:
    return [[Action(kind, rank, k)] for k in range(nmicrobatches)]


def _virtual(k: int, nranks: int, nvirtual: int) -> tuple[int, int]:
    """(which of the rank's stages, which microbatch) comes k-th: nranks microbatches through one stage, then through the next."""
    batch, within = divmod(k, nranks * nvirtual)
    return within // nranks, batch * nranks + within % nranks


def _in_turn(forwards: list[list[Action]], backwards: list[list[Action]], warm: int) -> list[Action]:
    """`warm` forwards, then a forward and a backward in turn, then the backwards that are left."""
    steady = len(forwards) - warm
    turns = forwards[:warm]
    turns += [a + b for a, b in zip(forwards[warm:], backwards[:steady], strict=True)]
    return [action for turn in turns + backwards[steady:] for action in turn]


_ALL = (
    Builder("gpipe", "GPipe", gpipe, "https://arxiv.org/abs/1811.06965", "ScheduleGPipe", ahead=0),
    Builder("1f1b", "1F1B", one_forward_one_backward, "https://arxiv.org/abs/2104.04473", "Schedule1F1B", ahead=0),
    Builder(
        "interleaved",
        "interleaved 1F1B",
        interleaved,
        "https://arxiv.org/abs/2104.04473",
        "ScheduleInterleaved1F1B",
        interleaves=True,
    ),
    Builder("zb-h1", "ZB-H1", zero_bubble, "https://arxiv.org/abs/2401.10241", "ScheduleInterleavedZeroBubble"),
)
SCHEDULES: dict[str, Builder] = {builder.name: builder for builder in _ALL}


def with_shards(s: PipelineSchedule, ahead: int | None = None, by_itself: bool = False) -> PipelineSchedule:
    """The same program with UNSHARD, RESHARD and REDUCE_GRAD where torch's schedules have them.

    Before a computation the next `ahead` stages that the rank computes are gathered, and the others freed: `_add_unshard_reshard` of
    torch.distributed.pipelining.schedules at 2.13. Its classes for one stage, GPipe's and 1F1B's, leave that to FSDP, as `ahead` of 0
    does. by_itself: then write down what FSDP2 does, too: a stage that is away is gathered before it computes and freed behind a
    forward; behind a backward it stays. A stage's gradients are reduced once what its last backward gave has been sent on
    (`_add_reduce_grad`).
    """
    if ahead is None:
        ahead = SCHEDULES[s.name].ahead if s.name in SCHEDULES else AHEAD
    return replace(s, programs=tuple(_with_shards(program, ahead, by_itself) for program in s.programs))


def _with_shards(program: Program, ahead: int, by_itself: bool) -> Program:
    last = {one.stage: at for at, one in enumerate(program)}  # its last backward, or the send of what that gave
    found: list[Action] = []
    gathered: list[int] = []
    for at, action in enumerate(program):
        if action.computes and (ahead or by_itself):
            wanted = _next(program[at:], ahead) if ahead else list(dict.fromkeys([*gathered, action.stage]))
            found += [Action("RESHARD", stage) for stage in sorted(set(gathered) - set(wanted))]
            found += [Action("UNSHARD", stage) for stage in wanted if stage not in gathered]
            gathered = wanted
        found.append(action)
        if at == last.get(action.stage):
            found.append(Action("REDUCE_GRAD", action.stage))
        if not ahead and action.kind == "F" and action.stage in gathered:
            found.append(Action("RESHARD", action.stage))
            gathered = [stage for stage in gathered if stage != action.stage]
    return (*found, *(Action("RESHARD", stage) for stage in sorted(gathered)))


def _next(program: Sequence[Action], count: int) -> list[int]:
    """The stages that are computed next, in the order in which they come."""
    return list(dict.fromkeys(one.stage for one in program if one.computes))[:count]


def read(text: str, nranks: int, nmicrobatches: int, nvirtual: int) -> str:
    """What the page asks of a text: JSON with `change`, what it changes in the widget's state, or with `error`, why it is not drawn.

    The most of ranks, microbatches and stages per rank are the widget's. Messages in the text are placed anew.
    """
    try:
        s = PipelineSchedule.parse(text)
        s = replace(s, programs=s.computed)
        own = proved(s, {"nranks": nranks, "nmicrobatches": nmicrobatches, "nvirtual": nvirtual})
    except ValueError as error:
        return json.dumps({"error": str(error)})
    change = {"schedule": s.name, "nranks": s.nranks, "nmicrobatches": s.nmicrobatches, "text": own}
    return json.dumps({"change": change if own else {**change, "nvirtual": s.nvirtual}})


def proved(s: PipelineSchedule, most: Mapping[str, int]) -> str:
    """The computations of a reader's schedule, once it is proved; "" for one that is the table's own.

    most: of what the widget draws, by name. ValueError beyond that, ScheduleError for what is no schedule.
    """
    for name, limit in most.items():
        if getattr(s, name) > limit:
            raise ValueError(f"the widget draws {name} up to {limit}, got {getattr(s, name)}")
    bare = replace(s, programs=s.computed)
    dry_run(with_messages(bare) if s.programs == s.computed else s)
    return "" if _is_the_tables(bare) else str(bare)


def _is_the_tables(s: PipelineSchedule) -> bool:
    try:
        return s.name in SCHEDULES and SCHEDULES[s.name](s.nranks, s.nmicrobatches, s.nvirtual).computed == s.programs
    except ScheduleError:
        return False  # the table has none of this size
