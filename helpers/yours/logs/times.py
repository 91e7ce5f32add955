"""What making a communicator took, which part of it, and whether that is too long. Chapter: yours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from helpers.nccl import DebugLog
from helpers.nccl.output.logs.debug_rows import Timings
from helpers.units import seconds_text
from helpers.yours.causes import cause
from helpers.yours.verdict import Cause

# Seconds. Public logs of up to 16 ranks, NCCL 2.25 to 2.29, say 0.2 to 3.9 in all and at most 0.4 for kernels (RCCL: 1.3). In
# github.com/NVIDIA/nccl issue 534 its authors call 5 to 6 "a lot more than it should"; in 1156, 150 for some thousand ranks are too many.
SLOW = 10.0
RANKS_A_SECOND = 64  # what is added for many ranks: SLOW + 16 for 1,024, SLOW + 64 for 4,096
SLOW_PART = 5.0
OWN = {  # parts in which a rank waits for no other: what it does there, and what makes that slow
    "kernels": (
        "loading NCCL's kernels",
        "they are compiled at every start where the library was built without this GPU's architecture (a CUDA older than the GPU) or"
        " CUDA_MODULE_LOADING=EAGER loads all of them; or the library lies on a slow file system",
    ),
    "alloc": (
        "making its structures",
        "opening plugins and cards, and CUDA's first memory: persistence mode off, many cards, or a slow driver",
    ),
    "topo": (
        "reading the topology",
        "NVML or /sys answers slowly, as without persistence mode, in a virtual machine or beside a GPU that fails",
    ),
    "graphs": ("searching rings and trees", "an unusual topology: NCCL_TOPO_DUMP_FILE shows what it saw"),
}
TOGETHER = {  # parts in which ranks wait for each other
    "bootstrap": (
        "the bootstrap",
        "sockets by a slow or wrong interface (NCCL_SOCKET_IFNAME), a name server that does not answer, thousands of ranks",
    ),
    "allgathers": ("telling each other who they are", "sockets by a slow or wrong interface (NCCL_SOCKET_IFNAME)"),
    "connections": ("connecting", "many ranks, cards that answer slowly, or a wrong GID"),
}


def spent(log: DebugLog) -> str:
    """ " Init took at most 2.16 s." """
    if not log.timings:
        return ""
    most = max(log.timings, key=lambda one: one.total)
    part, seconds = max(most.parts, key=lambda one: one[1])
    doing = {**OWN, **TOGETHER}.get(part, (f"'{part}'",))[0]
    return f" Init took {seconds_text(most.total)} on rank {most.rank} of {most.nranks}, {seconds_text(seconds)} of it {doing}."


def slow(log: DebugLog) -> Iterator[Cause]:
    """The part in which a rank was slow by itself; else the one in which no rank was quick, as all others only wait there."""
    late = [one for one in log.timings if one.total > SLOW + one.nranks / RANKS_A_SECOND]
    if not late:
        return
    own = [(seconds, part, one) for one in late for part, seconds in one.parts if part in OWN and seconds > SLOW_PART]
    if not own:
        yield _waited(max(late, key=lambda one: one.total), log.timings)
        return
    seconds, part, at = max(own)
    doing, why = OWN[part]
    yield cause(
        "slow init", f"rank {at.rank} took {seconds_text(at.total)}, {seconds_text(seconds)} of it {doing}: {why}"
    )


def _waited(worst: Timings, timings: Sequence[Timings]) -> Cause:
    part, most = max(worst.parts, key=lambda one: one[1])
    doing, why = TOGETHER.get(part, (f"'{part}'", "no part that NCCL names"))
    among = {one.rank: dict(one.parts).get(part, 0.0) for one in timings if one.nranks == worst.nranks}
    least = min(among.values())
    took = f"rank {worst.rank} took {seconds_text(worst.total)}, {seconds_text(most)} of it {doing}"
    if len(among) > 1 and least > SLOW_PART + worst.nranks / RANKS_A_SECOND:
        return cause("slow init", f"{took}, and no rank of this log less than {seconds_text(least)}: {why}")
    waited = "waiting for the last rank to come" if len(among) > 1 else "perhaps waiting for a rank that came late"
    return cause(
        "slow init",
        f"{took}, {waited}: the lines of all ranks tell who was late, and what it did before",
        accuses=False,
    )
