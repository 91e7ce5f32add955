"""The collectives of a trace: what each moved, how long it took, how much of that nothing hid. Chapter: yours.

torch hands kineto what a call was (saveNcclMeta in torch/csrc/profiler/util.cpp, whose numbers come from RECORD_PARAM_COMMS_DATA in
torch/csrc/distributed/c10d), and kineto writes it into the kernel that the call became.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from helpers.collectives import PROMISES
from helpers.nccl.output.traces.kineto_checks import a_text, a_whole
from helpers.nccl.output.traces.kineto_events import Event
from helpers.nccl.output.traces.kineto_intervals import Interval, minus, total
from helpers.nccl.output.traces.kineto_kernels import NAME

OPS = {  # torch's, NCCL's and Gloo's words without underscores, the longest first where one begins another
    "reducescatter": "reduce_scatter",
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
    "sendrecv": "send_recv",
    "barrier": "barrier",
    "scatter": "scatter",
    "gather": "gather",
    "reduce": "reduce",
    "send": "send",
    "recv": "recv",
}
ITEM = {  # bytes of one number, by c10::toString of its type
    **dict.fromkeys(("Byte", "Char", "Bool", "Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz"), 1),
    **dict.fromkeys(("Short", "Half", "BFloat16", "UInt16"), 2),
    **dict.fromkeys(("Int", "Float", "UInt32"), 4),
    **dict.fromkeys(("Long", "Double", "UInt64", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}
INPUT, OUTPUT, GROUP = "In msg nelems", "Out msg nelems", "Process Group Name"
WITHIN = ("allreduce", "reducescatter", "allgather", "alltoall")  # words that a longer name may hold


class Collective(NamedTuple):
    """One call on one lane. op: as helpers.collectives has it, else torch's own word. place: its number in traceEvents.

    nbytes: nccl-tests' size, the larger of input and output; None where the trace does not say, as are group, number and nranks.
    number: which of its group's calls (torch's sequence number). start, end, exposed: nanoseconds; exposed: beside no computation.
    """

    place: int
    lane: int | str
    op: str
    group: str | None
    number: int | None
    nranks: int | None
    dtype: str | None
    nbytes: int | None
    start: int
    end: int
    exposed: int

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9

    @property
    def algbw(self) -> float | None:
        """Bytes per second, as nccl-tests counts them: the size over the time. None where either is not known."""
        return None if self.nbytes is None or self.end == self.start else self.nbytes / self.seconds

    @property
    def busbw(self) -> float | None:
        """What a link carries one way, as nccl-tests counts it: algbw times the collective's factor."""
        if self.algbw is None or self.nranks is None or self.op not in PROMISES:
            return None
        return self.algbw * PROMISES[self.op].bus_factor(self.nranks)


def op_of(word: str) -> str:
    """ "_allgather_base", "AllGather" and "symm_mem::multimem_all_gather_out" are all_gather; a word that is none of ours stays."""
    plain = word.rpartition("::")[2].replace("_", "").lower()
    begun = (op for begins, op in OPS.items() if plain.startswith(begins))
    return next(begun, next((OPS[part] for part in WITHIN if part in plain), word))


def collective(
    event: Event, lane: int | str, args: Mapping[str, Any], word: str, compute: Sequence[Interval]
) -> Collective:
    """args: those that say what the call was, {} where nothing does. compute: when that lane's device computes."""
    about = f"event {event.place}"
    told = args.get(NAME)
    nranks, number = _whole(args, "Group size", about), _whole(args, "Seq", about)
    dtype = None if args.get("dtype") is None else a_text(args["dtype"], f"{about}: dtype")
    return Collective(
        event.place,
        lane,
        op_of(word if told is None else a_text(told, f"{about}: {NAME}")),
        None if args.get(GROUP) is None else a_text(args[GROUP], f"{about}: {GROUP}"),
        number,
        nranks or None,
        dtype,
        _nbytes(args, dtype, about),
        event.start,
        event.end,
        total(minus([event.span] if event.start < event.end else [], compute)),
    )


def _nbytes(args: Mapping[str, Any], dtype: str | None, about: str) -> int | None:
    sent, received = _whole(args, INPUT, about), _whole(args, OUTPUT, about)
    if sent is None or received is None or dtype not in ITEM:
        return None
    return max(sent, received) * ITEM[dtype] or None


def _whole(args: Mapping[str, Any], name: str, about: str) -> int | None:
    return None if args.get(name) is None else a_whole(args[name], f"{about}: {name}")
