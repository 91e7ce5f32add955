"""The verdict on copies between GPUs, and to and from the host: no P2P, one slow pair, one narrow slot. Chapter: yours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from statistics import median

from helpers.nccl.output.machine.copies import Copied, Copies, parse_copies
from helpers.units import bandwidth_text
from helpers.yours.causes import cause
from helpers.yours.machine.topologies import no_p2p
from helpers.yours.places import Place, gpu_place
from helpers.yours.verdict import CLEAN, Cause, Verdict

ONE_WAY = (  # in the order in which they are taken
    "p2p on",
    *(
        f"{where}device_to_device_memcpy_{way}_{by}"
        for where in ("", "multinode_")
        for by in ("ce", "sm")
        for way in ("read", "write")
    ),
    "p2p off",
)
HOST = ("host_to_device_memcpy_ce", "device_to_host_memcpy_ce", "host_to_device_memcpy_sm", "device_to_host_memcpy_sm")
NEVER = re.compile(
    r"\bRTX (?:[45]0[5-9]0|30[5-8]0)\b"
)  # GeForce for which NVIDIA's driver offers no P2P, and NVLink has no bridge
SAME = 1.05  # times the bandwidth without P2P is no P2P
QUICKER = 0.7  # of the latency without P2P is P2P all the same
SLOW = 0.75  # of the typical pair, or GPU
FEW = 0.25  # of the pairs: where more are slow, the machine is built so
OF_SWITCH = 0.6  # of the line rate: healthy copies through NVSwitch reach more than eight tenths
OF_SLOT = 0.5  # of the slot: a generation or half of the lanes is missing


def of_copies(text: str, told: Place | None) -> Verdict:
    """Text of p2pBandwidthLatencyTest or nvbandwidth."""
    return judged(parse_copies(text), told)


def judged(found: Copied, told: Place | None) -> Verdict:
    """Each pair beside the others, beside itself without P2P, and beside the link where the GPUs' names or the reader tell it."""
    place = told or gpu_place(found.gpus)
    gpus = f", {len(found.gpus)} {found.gpus[0]}" if found.gpus and len(set(found.gpus)) == 1 else ""
    what = (
        f"copies between GPUs or with the host, {len(found.tables)} table{'s' if len(found.tables) != 1 else ''}{gpus}"
    )
    said = (
        " ".join(filter(None, [_way(found, place), _both(found), _host(found)]))
        or "They have no bandwidth from one GPU to another."
    )
    said += " A table ends within its rows." if found.cut else ""
    return Verdict("machine", what, said, CLEAN, causes=tuple(_causes(found, place)))


def _way(found: Copied, place: Place | None) -> str:
    table = found.of(*ONE_WAY)
    pairs = table.between() if table else {}
    if not table or not pairs:
        return ""
    low, typical = min(pairs, key=lambda pair: pairs[pair]), median(pairs.values())
    said = f"From GPU to GPU {_rate(typical)} one way are typical, {_rate(pairs[low])} the least ({_pair(low)}),"
    said += f" {_rate(max(pairs.values()))} the most"
    if place and place.shape == "switch":
        said += f", {typical * 1e9 / place.inside:.0%} of the line rate of {place.accelerator}"
    return said + (", without P2P." if table.test == "p2p off" else ".")


def _both(found: Copied) -> str:
    one, both = found.of("p2p on", "p2p off"), found.of("both on", "both off")
    if not one or not both or not one.between() or not both.between():
        return ""
    times = median(both.between().values()) / median(one.between().values())
    return f"Both ways at once are {_rate(median(both.between().values()))} together, {times:.1f} times one way."


def _host(found: Copied) -> str:
    table = found.of(*HOST)
    return (
        f"Between host and GPU {_rate(median(table.values.values()))} one way are typical."
        if table and table.values
        else ""
    )


def _causes(found: Copied, place: Place | None) -> list[Cause]:
    causes = _closed(found)
    table = found.of(*ONE_WAY)
    pairs = table.between() if table else {}
    if pairs and table and table.test != "p2p off" and not any(one.accuses for one in causes) and not _never(found):
        causes += _slow(pairs) or _short(
            median(pairs.values()) * 1e9, place, len({gpu for pair in pairs for gpu in pair})
        )
    for one in filter(None, map(found.of, HOST)):
        causes += _slots(one, place)
    return causes


def _never(found: Copied) -> bool:
    return bool(found.gpus) and all(map(NEVER.search, found.gpus))


def _closed(found: Copied) -> list[Cause]:
    """No P2P: told as such, or seen where it makes no difference."""
    access = found.of("p2p access")
    none = list(found.closed) or [pair for pair, may in (access.between() if access else {}).items() if not may]
    if none:
        if _never(found):
            why = f"{found.gpus[0]} has no P2P by NVIDIA's driver: what passes is staged in memory of the host, as it has to be"
            return [cause("no P2P", why, accuses=False)]
        gpus = len({gpu for pair in access.values for gpu in pair}) if access else len(found.gpus)
        return [no_p2p(f"{_pair(none[0])} cannot reach each other's memory{_more(len(none))}", len(none), gpus)]
    on, off = found.of("p2p on"), found.of("p2p off")
    pairs = on.between() if on and off else {}
    times = {pair: rate / off.values[pair] for pair, rate in pairs.items() if off and off.values.get(pair)}
    typical = median(times.values()) if times else 1.0
    if typical < SLOW:
        why = f"with P2P the GPUs copy {typical:.0%} of what they do through memory of the host: a bad way between their slots (ACS, IOMMU)"
        return [cause("no P2P", why)]
    same = [pair for pair, ratio in times.items() if ratio <= SAME and not _quicker(found, pair)]
    if not same or len(same) < len(pairs):
        return []
    why = f"{_pair(same[0])} are no faster with P2P than without{_more(len(same))}: it is allowed and does not work"
    return [cause("no P2P", why)]


def _short(typical: float, place: Place | None, gpus: int) -> list[Cause]:
    """All pairs far below the line rate of a switch; four GPUs or fewer may be joined by a third of their links each, without one."""
    if place is None or place.shape != "switch":
        return []
    if typical >= (OF_SWITCH * place.inside if gpus > 4 else SLOW * place.inside / 3):
        return []
    share = f"{typical / place.inside:.0%} of the line rate of {bandwidth_text(place.inside)}"
    return [cause("slow link", f"copies between GPUs reach {bandwidth_text(typical)} one way, {share}")]


def _quicker(found: Copied, pair: tuple[str, str]) -> bool:
    """Over a slot P2P may have the same bandwidth; its latency tells."""
    on, off = found.of("latency on"), found.of("latency off")
    return bool(on and off and on.values.get(pair, 1.0) < QUICKER * off.values.get(pair, 0.0))


def _slow(pairs: Mapping[tuple[str, str], float]) -> list[Cause]:
    """A few pairs far below the others."""
    typical = median(pairs.values())
    slow = sorted((pair for pair, rate in pairs.items() if rate < SLOW * typical), key=lambda pair: pairs[pair])
    if not slow or len(slow) > FEW * len(pairs):
        return []
    one, other = slow[0]
    why = f"GPU {one} to GPU {other} copies {_rate(pairs[slow[0]])} one way, where {_rate(typical)} are typical{_more(len(slow))}"
    back = pairs.get((other, one), 0.0)
    if back >= SLOW * typical:
        why += f"; the way back has {_rate(back)}"
    gpu, count = Counter(gpu for pair in slow for gpu in pair).most_common(1)[0]
    if len(slow) > 2 and count == len(slow):
        why += f"; GPU {gpu} is in all of them"
    return [cause("slow pair", why)]


def _slots(table: Copies, place: Place | None) -> list[Cause]:
    """One GPU's slot beside the others', and all of them beside the slot that the machine has."""
    rates = {gpu: rate for (_, gpu), rate in table.values.items()}
    typical, best = (median(rates.values()), max(rates.values())) if rates else (0.0, 0.0)
    slow = [gpu for gpu, rate in rates.items() if rate < SLOW * (typical if len(rates) > 2 else best)]
    way = "from" if table.test.startswith("device") else "to"
    if slow and len(slow) <= len(rates) / 2:
        why = f"{way} GPU {slow[0]} the host copies {_rate(rates[slow[0]])}, where {_rate(best)} are reached by another"
        return [cause("narrow slot", why + _more(len(slow)))]
    if place is None or not place.slot or typical * 1e9 >= OF_SLOT * place.slot:
        return []
    why = f"{way} a GPU the host copies {_rate(typical)}, {typical * 1e9 / place.slot:.0%} of {bandwidth_text(place.slot)} one way"
    return [
        cause(
            "narrow slot",
            f"{why}, its slot's: half of the lanes, an older generation, or a processor that is far",
            accuses=place.told,
        )
    ]


def _pair(pair: tuple[str, str]) -> str:
    return f"GPU {pair[0]} and GPU {pair[1]}"


def _rate(value: float) -> str:
    return bandwidth_text(value * 1e9)


def _more(n: int) -> str:
    return f"; so do {n - 1} more" if n > 1 else ""
