"""The verdict on a log of NCCL_DEBUG=INFO: which way the bytes go, what was set, what was ignored, what is missing. Chapter: yours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from helpers.nccl import DebugLog
from helpers.units import nbytes_text
from helpers.yours.causes import cause
from helpers.yours.logs.times import slow, spent
from helpers.yours.logs.warned import Told, asked, causes, headline, told_by
from helpers.yours.verdict import TOO_LITTLE, Cause, Verdict

CAPS = ("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_MAX_P2P_NCHANNELS")
SHORTER_PATH = {  # set so, bytes go another way than they could
    "NCCL_P2P_DISABLE": ("1", "no GPU reads another's memory: through memory of the host", "p2p"),
    "NCCL_P2P_LEVEL": ("LOC", "no GPU reads another's memory: through memory of the host", "p2p"),
    "NCCL_IB_DISABLE": ("1", "no InfiniBand and no RoCE: between nodes by sockets", "sockets"),
    "NCCL_SHM_DISABLE": ("1", "not even memory of the host: ranks of one node by the network", "shared-memory"),
    "NCCL_NET": ("Socket", "between nodes by sockets", "sockets"),
    "NCCL_NET_GDR_LEVEL": ("LOC", "the cards do not read the GPU's memory", "gpudirect-rdma"),
}
BY_SOCKETS = ("NET/OFI: tcp", "NET/OFI: sockets", "NET/OFI: udp")  # providers of libfabric, as aws-ofi-nccl takes one
MANY = 4  # GPUs of a node that share one card are too many


def of_log(log: DebugLog, text: str = "") -> Verdict:
    """What is plain from the lines; of times a log has only those of its start. text: where errors of other programs stand between them."""
    told = told_by(log, text)
    alone = told and not (log.connections or log.members or log.settings)
    what = "warnings of NCCL" if alone else f"a log of {log}"
    sentence = f"{headline(told)}{'' if alone else _ways(log) + _settings(log) + spent(log)}".strip()
    clean = "Nothing in it accuses the machine." if log.connections else TOO_LITTLE
    lines = (*_choices(log), *asked(told))
    return Verdict("log", what, sentence, clean, causes=tuple(_causes(log, told)), lines=lines)


def _ways(log: DebugLog) -> str:
    ways = ", ".join(f"{count} {way}" for way, count in log.transports().items())
    channels = max((ring.channels for ring in log.rings), default=0)
    said = f"Connections: {ways}." if ways else "It tells of no connection: was it cut, or NCCL_DEBUG_SUBSYS set?"
    return f"{said} {channels} channels." if channels else said


def without_rows(found: Verdict) -> Verdict:
    """The verdict on a log below a table's head that no row follows."""
    why = "the table has its head and no row: the run stood in its first call, ended there, or was cut; with NCCL_P2P_DISABLE=1 it tells"
    ends = "Nothing else in it says why." if found.otherwise else ""
    remark = cause("no size finished", f"{why} whether the way from GPU to GPU is to blame", repair="p2p")
    return replace(
        found, sentence=f"{found.sentence} No size was finished.", otherwise=ends, causes=(*found.causes, remark)
    )


def _choices(log: DebugLog) -> Iterator[str]:
    """What NCCL took, from the smallest to the largest call that the log tells of, in the order of the first."""
    sizes: dict[str, list[int]] = {}
    for one in log.choices:
        call = f"{one.collective or 'calls'}: {one.algorithm}/{one.protocol}"
        sizes.setdefault(call, []).append(one.nbytes)
    for call, told in sizes.items():
        yield f"{call} from {nbytes_text(min(told))} to {nbytes_text(max(told))}"


def _settings(log: DebugLog) -> str:
    taken = ", ".join(f"{name}={'/'.join(values)}" for name, values in sorted(log.took_effect.items()))
    ignored = ", ".join(sorted(log.ignored))
    return (f" Taken: {taken}." if taken else " No setting is told.") + (f" Ignored: {ignored}." if ignored else "")


def _causes(log: DebugLog, told: list[Told]) -> Iterator[Cause]:
    """What was warned of before all else: a log ends there, and is complete for that."""
    warned = list(causes(told))
    failed = any(one.accuses and one.name != "warning" for one in warned)
    yield from warned if failed else ()
    yield from (one._replace(accuses=False) if failed else one for one in _truncated(log))
    yield from slow(log)
    yield from _paths(log)
    yield from _nics(log)
    yield from _set(log)
    for name, said in sorted(log.ignored.items()):
        yield cause("ignored setting", f"{name} had no effect, in NCCL's words: {said[0]}")
    yield from () if failed else warned


def _truncated(log: DebugLog) -> Iterator[Cause]:
    """A communicator that began and was never complete: what would have followed is not here."""
    open_ = [member for member in log.members if not member.complete]
    if not open_:
        return
    ranks = sorted({member.rank for member in open_})
    shown = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
    last = log.damaged[-1] if log.damaged else None
    cut = f"; line {last.line} does not hold together" if last else ""
    why = f"no 'Init COMPLETE' of rank {shown}: the log was cut, or these ranks never came so far{cut}"
    yield cause("truncated log", why)


def _paths(log: DebugLog) -> Iterator[Cause]:
    """The longer ways, worst first."""
    ways = log.transports()
    total = sum(ways.values())
    sockets = sum(count for way, count in ways.items() if way.startswith("NET/Socket"))
    staged = sum(count for way, count in ways.items() if way.startswith("NET/") and way.endswith("without GDRDMA"))
    shared = sum(count for way, count in ways.items() if way.startswith("SHM"))
    if sockets:
        why = f"{sockets} of {total} connections go by sockets, through the processor and its kernel"
        yield cause("wrong path", why, repair="sockets")
    elif staged:
        why = f"{staged} of {total} connections go by the network without GPUDirect RDMA: staged in memory of the host"
        efa = all(way.startswith("NET/AWS") for way in ways if way.endswith("without GDRDMA"))
        why += "; not every EC2 instance with EFA has GPUDirect RDMA" if efa else ""
        yield cause("wrong path", why, accuses=not efa, repair="gpudirect-rdma")
    elif log.without_gdr:
        why = f"NCCL says that {', '.join(log.without_gdr[:8])} can not read the GPU's memory: staged in memory of the host between nodes"
        yield cause("wrong path", why, accuses=_several(log), repair="gpudirect-rdma")
    if by := [name for name in log.plugins if name in BY_SOCKETS]:
        why = f"libfabric goes by sockets ({by[0].rpartition(' ')[2]}), not by EFA: staged by the processor and its kernel"
        yield cause("wrong path", why, accuses=_several(log), repair="efa")
    if shared:
        why = f"{shared} of {total} connections go through memory of the host (SHM), not from GPU to GPU"
        yield cause("wrong path", why, repair="p2p")


def _nics(log: DebugLog) -> Iterator[Cause]:
    """One card for a whole node."""
    cards = {way.nic for way in log.connections if way.network is not None}
    local = max((member.local_ranks or 0 for member in log.members), default=0)
    if len(cards) == 1 and local >= MANY:
        yield cause(
            "too few NICs", f"all connections between nodes go by card {cards.pop()}, and a node has {local} ranks"
        )


def _set(log: DebugLog) -> Iterator[Cause]:
    """Settings that took effect and that cost something."""
    taken = log.took_effect
    for name, (value, why, repair) in SHORTER_PATH.items():
        if value in taken.get(name, ()):
            accuses = name != "NCCL_IB_DISABLE" or _several(log)
            yield cause("wrong path", f"{name}={value} took effect: {why}", accuses=accuses, repair=repair)
    for name in CAPS:
        if name in taken:
            yield cause("few channels", f"{name}={taken[name][0]} took effect: fewer channels than NCCL would take")
    if "0" in taken.get("NCCL_NVLS_ENABLE", ()):
        yield cause("NVLS off", "NCCL_NVLS_ENABLE=0 took effect: the switch adds nothing")
    elif any(not one.available for one in log.nvls):
        yield cause("NVLS off", "NVLS multicast is not available on some device", accuses=False)
    yield from _lists(taken)


def _several(log: DebugLog) -> bool:
    """Whether the ranks are on several nodes."""
    return any((member.nodes or 1) > 1 for member in log.members) or any(way.network for way in log.connections)


def _lists(taken: dict[str, tuple[str, ...]]) -> Iterator[Cause]:
    """What plain lists leave out is off; a list that begins with ^ names what is off. Lists by collective ("allreduce:ring") tell less."""
    for value in _plain(taken, "NCCL_PROTO"):
        names = _names(value)
        if ("ll128" in names) == value.startswith("^"):
            yield cause("LL128 off", f"NCCL_PROTO={value} took effect: LL128 is left out")
    for value in _plain(taken, "NCCL_ALGO"):
        names = _names(value)
        if ("nvls" in names) == value.startswith("^"):
            yield cause("NVLS off", f"NCCL_ALGO={value} took effect: NVLS is left out")


def _plain(taken: dict[str, tuple[str, ...]], name: str) -> list[str]:
    return [value for value in taken.get(name, ()) if ":" not in value]


def _names(value: str) -> list[str]:
    return [name.strip().lower() for name in value.removeprefix("^").split(",")]
