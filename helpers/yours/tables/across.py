"""Why a curve between nodes is slow, or faster than the wire, and which causes look alike. Chapters: yours, hierarchy."""

from __future__ import annotations

from helpers.nccl import NotPredicted, predict
from helpers.units import MIB, bandwidth_text
from helpers.yours.causes import cause
from helpers.yours.networks import EFA, SOCKETS
from helpers.yours.places import Place
from helpers.yours.tables.beside import CARDS, version_of
from helpers.yours.tables.curves import Curve
from helpers.yours.verdict import Cause, Verdict

HEALTHY = (
    0.7  # of the plateau, or of what the cards reach where that is less: a ring that was asked for, or an older NCCL
)
HALF = 0.5
RINGS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")
LEAST = 3e9  # of one port of 25 Gb/s
LARGE = 16 * MIB  # from here on the bytes decide
SLOT_4 = 20e9, 28e9  # what cards of 400 Gb/s pass in slots of PCIe 4, after packet headers; a gigabyte to both sides


def between_nodes(curve: Curve, place: Place, found: Verdict) -> list[Cause]:
    """Why it is slow, the likeliest first; none where it is not. What a supposed rate of the cards tells is a remark."""
    if curve.network and curve.network.kind == SOCKETS:
        why = f"the log beside it has NCCL go by sockets between nodes{_rate(curve, found)}; a faster network that they have is not used"
        return [_cause(curve, "wrong path", why)._replace(repair="sockets")]
    if (
        not curve.network
        and curve.collective in RINGS
        and curve.best.busbw < LEAST <= place.inside / 50
        and _large(curve)
    ):
        why = f"{bandwidth_text(curve.best.busbw)} is less than what one port of 25 Gb/s passes: sockets by a slow interface"
        return [_cause(curve, "wrong path", why)._replace(repair="sockets")]
    top = found.plateau and min(found.plateau, place.reach(curve.nranks or 0, curve.collective) or found.plateau)
    bar = (
        HALF if found.plateau_of == CARDS else HEALTHY
    )  # of an all_to_all or a sendrecv nobody published what is usual
    if not top or not found.line_rate or not _large(curve) or curve.best.busbw >= bar * top:
        return []
    causes = _told(curve, place, found) or _alike(curve, place, found)
    sure = not place.supposed and place.domain <= place.gpus  # between racks nobody published what is healthy
    return [one._replace(accuses=one.accuses and sure) for one in causes]


def _large(curve: Curve) -> bool:
    return curve.points[-1].nbytes >= LARGE


def _told(curve: Curve, place: Place, found: Verdict) -> list[Cause]:
    """What the log beside the table leaves no doubt of."""
    network, rate = curve.network, _rate(curve, found)
    repair = "efa" if network and network.kind == EFA else "gpudirect-rdma"
    if network and network.direct is False:
        why = f"the log beside it has connections between nodes without GPUDirect RDMA, staged in memory of the host{rate}"
        return [_cause(curve, "wrong path", why)._replace(repair=repair)]
    if network and network.cards and network.cards < place.nics:
        why = f"the log beside it names {network.cards} cards, and a node of {place.title} has {place.nics}{rate}"
        return [_cause(curve, "too few NICs", why)._replace(repair=repair)]
    return []


def _alike(curve: Curve, place: Place, found: Verdict) -> list[Cause]:
    """By the rate alone: fewer cards, slower cards and one that the others wait for look alike, so what tells them apart is said, too."""
    network, share = curve.network, _of_plateau(curve, found)
    each = curve.best.busbw / (found.line_rate or 1.0) * place.port
    if each * place.nics < min(HALF * place.port, place.ports / 4):
        why = f"less than half of one port, {bandwidth_text(place.port)} one way: sockets, or staged in memory of the host"
        return [_cause(curve, "wrong path", f"{share}: {why}")._replace(repair="sockets")]
    who = f"each of {place.nics} cards" if place.nics > 1 else "the one card of a node's part"
    said = f"{share}: as if {who} passed {bandwidth_text(each)} of {bandwidth_text(place.port)}"
    count = _ports_in_use(curve, place, found)
    whole = network is not None and network.cards == place.nics
    causes = []
    if count < place.nics and not whole:
        why = f"{share}: about what {count} of {place.nics} ports of a node pass; all of them without GPUDirect RDMA look alike"
        causes.append(_cause(curve, "too few NICs", why))
    why = "a channel's share is the same on every rail, so all wait for the slowest: one card, cable or switch at half its rate halves it"
    causes.append(_cause(curve, "slow rail", why if causes else f"{said}; {why}", accuses=not causes))
    if place.port > SLOT_4[1] and SLOT_4[0] <= each <= SLOT_4[1]:
        causes.append(_cause(curve, "narrow slot of a NIC", f"{said}, which is what a slot of PCIe 4 leaves of it"))
    if not (network and network.direct):
        causes.append(_cause(curve, "no GPUDirect RDMA", f"{said}: staged in memory of the host it is no more"))
    roce = network is not None and network.kind == "RoCE"
    if roce or (place.nodes > 2 and not (network and network.kind == EFA)):
        why = "flows of several pairs of nodes can meet on one link between switches (ECMP, no adaptive routing) while others idle"
        causes.append(_cause(curve, "colliding flows", why))
    return causes


def beyond_the_wire(curve: Curve, place: Place | None, found: Verdict) -> list[Cause]:
    """A remark where busbw is more than the wires carry: it counts what a ring would send, and fewer bytes went."""
    if place is None or not found.line_rate_share or found.line_rate_share <= 1:
        return []
    if place.alone(curve.nranks or 0):
        why = "the switch adds and hands the sum to all (NVLS), so a GPU sends each byte once where a ring sends it nearly twice"
    elif curve.hosts <= 2 and curve.collective == "all_reduce":
        why = (
            "on two nodes NCCL joins the nodes by a tree (Tree, NVLSTree), which takes each byte over the network once each way where a"
            " ring takes it nearly twice, and NVLink does the rest; NCCL_ALGO=Ring shows what the network alone passes"
        )
    else:
        why = "part of what a node needs is there already, or switches of the network add (SHARP): fewer bytes cross than a ring sends"
    said = f"busbw is {found.line_rate_share:.0%} of the wire's rate and no fault of the clock: it counts what a ring would send"
    return [_cause(curve, "beyond the wire", f"{said}; {why}")]


def split_remarks(curve: Curve) -> list[Cause]:
    """A remark on a table of several groups: its times are a mean, which hides one slow group among many."""
    if curve.groups < 2:
        return []
    why = (
        f"the times are the mean over {curve.groups} groups that ran at once, so one that takes twice as long among them shows as"
        f" {1 / curve.groups:.0%} more; -a 3 prints the slowest group's time, -a 2 the quickest's"
    )
    ranks, hosts = (curve.nranks or 1) * curve.groups, curve.hosts if curve.hosts > 1 else curve.groups
    return [cause("several groups", why, curve.program, ranks, hosts=hosts)]


def _ports_in_use(curve: Curve, place: Place, found: Verdict) -> int:
    """The number of ports whose predicted time of the largest size is nearest; their share where nothing is predicted."""
    last, off = curve.points[-1], []
    for count in range(1, place.nics + 1):
        try:
            part = place.with_ports(count)
            choice = predict(curve.collective or "", last.nbytes, part, curve.nranks, version_of(curve))
        except (NotPredicted, ValueError):
            return max(1, round(curve.best.busbw / (found.line_rate or 1.0) * place.nics))
        ratio = choice.seconds / last.seconds
        off.append((max(ratio, 1 / ratio), count))
    return min(off)[1] if off else place.nics


def _of_plateau(curve: Curve, found: Verdict) -> str:
    share = f", {found.plateau_share:.0%} of the plateau" if found.plateau_share is not None else ""
    return f"{bandwidth_text(curve.best.busbw)}{share}"


def _rate(curve: Curve, found: Verdict) -> str:
    return f": {_of_plateau(curve, found)}"


def _cause(curve: Curve, name: str, why: str, accuses: bool | None = None) -> Cause:
    return cause(name, why, curve.program, curve.nranks, accuses=accuses, hosts=curve.hosts)
