"""Why a curve is slow: a symptom and the cause that shows it, in the order in which they cost. Chapter: yours."""

from __future__ import annotations

from helpers.facts import FACTS
from helpers.units import KIB, MIB, bandwidth_text, nbytes_text, seconds_text
from helpers.yours.causes import cause
from helpers.yours.places import Place
from helpers.yours.tables.across import between_nodes
from helpers.yours.tables.beside import MODEL, Model, version_of
from helpers.yours.tables.curves import Curve
from helpers.yours.tables.suspects import Fit, fitting, launch, simple_alone
from helpers.yours.verdict import Cause, Verdict

LARGE = 16 * MIB  # from here on the bytes decide
PLATEAU = 64 * MIB  # from here on the model is near what healthy GPUs do
SMALL = 64 * KIB  # up to here the launch does
HEALTHY = 0.7  # of the plateau: the published runs of one GPU are within a few percent of each other
REACHED = 0.95  # of the plateau: beside it the protocols of a version that nobody told are no evidence
HALF = 0.5
LAUNCHES = 2.0  # times the published launch
SLOT = 1.1  # a slot's rate, and what the clock may be off
OLD_SLOT = FACTS["pcie-3.gpu"].bandwidth.value
LINKS_DECIDE = ("sendrecv", "broadcast", "reduce", "alltoall", "scatter", "gather")  # their busbw is what a link passes
TRICKLE = 0.05  # of the line rate: every published PCIe machine is above it
FEW = 4  # GPUs in slots
SLOT_4 = FACTS["pcie-4.gpu"].bandwidth.value
MESH = 3  # times a slot's rate, from which on a mesh is told from slots


def slow_causes(curve: Curve, place: Place | None, model: Model, found: Verdict) -> list[Cause]:
    """Of the path first, then of what runs on it, then of what starts it."""
    between = place is not None and not place.alone(curve.nranks or 0)
    causes = between_nodes(curve, place, found) if place and between else []
    path = next(iter(causes), None) if between else _path(curve, place, found)
    fit = fitting(curve, model) if model.sizes and not path else None
    if fit and fit.name != "NVLS off" and curve.nccl != version_of(curve) and (found.plateau_share or 0.0) >= REACHED:
        fit = None
    if path and not between:
        causes.append(path)
    if fit:
        fitted = _of_fit(curve, fit, place is not None and place.alone(curve.nranks or 0))
        causes.append(
            fitted._replace(accuses=fitted.accuses or _short(curve, place, found))
        )  # whoever is so far off has a fault
    elif not path and _short(curve, place, found):
        why = "neither a setting nor PCIe explains it: a link, a clock, or another job beside it"
        causes.append(_cause(curve, "slow link", _of_plateau(curve, found, why)))
    elif not path and _less_over_slots(curve, place, found):
        why = "over PCIe that can be another pair of slots, fewer lanes, or the way through memory of the host"
        causes.append(_cause(curve, "wrong path", _of_plateau(curve, found, why))._replace(accuses=False))
    if model.sizes and not (path or fit) and (place and place.alone(curve.nranks or 0)):
        causes += _not_worth_it(curve, model)
    if model.sizes and not path:  # a longer path has a longer start, too
        causes += _host_bound(curve, model)
    return sorted(causes, key=lambda one: not one.accuses)


def _path(curve: Curve, place: Place | None, found: Verdict) -> Cause | None:
    """The bytes went another way, or a part of the way was not used: tables that reach large sizes tell."""
    best, nranks = curve.best, curve.nranks or 0
    if curve.points[-1].nbytes < LARGE or nranks < 2:
        return None
    if place is None:
        slow = curve.hosts == 1 and nranks <= 4 and best.busbw < OLD_SLOT / 4
        why = f"{bandwidth_text(best.busbw)} on one host is less than a quarter of what even a slot of PCIe 3 passes one way"
        return _cause(curve, "wrong path", f"{why}: sockets, or memory of the host") if slow else None
    if place.shape != "switch":
        low = best.busbw < _trickle(place, nranks, found.line_rate or 0.0)
        low = low or (found.plateau is not None and best.busbw < HALF * found.plateau)
        slots = place.shape == "mesh" and place.slot and best.busbw > place.slot / 4
        why = "no more than PCIe slots pass: not over the links" if slots else "sockets, or memory of the host"
        return _cause(curve, "wrong path", _of_plateau(curve, found, why)) if low else None
    if found.plateau is None:
        return _unpublished(curve, place, found)
    if not _short(curve, place, found):
        return None
    if place.slot and best.busbw <= SLOT * place.slot:
        why = f"no more than a PCIe slot passes, {bandwidth_text(place.slot)} one way: not over NVLink"
        return _cause(curve, "wrong path", _of_plateau(curve, found, why))
    if best.busbw < HALF * found.plateau and curve.hosts > 1:
        why = "less than half of NVLink: the nodes are no one clique of it, or multi-node NVLink is off (NCCL_MNNVL_ENABLE, IMEX)"
        return _cause(curve, "wrong path", _of_plateau(curve, found, why))
    if best.busbw < HALF * found.plateau:
        why = "more than PCIe passes and less than half of NVLink: few channels, or few of the links"
        return _cause(curve, "few channels", _of_plateau(curve, found, why))
    return None


def _trickle(place: Place, nranks: int, rate: float) -> float:
    """Below that no healthy machine without switches is: of many slots by PCIe 4, as newer are no faster there; of a mesh by a slot."""
    if place.shape == "mesh" and place.slot and rate >= MESH * place.slot:
        return SLOT * place.slot
    return TRICKLE * (min(rate, SLOT_4) if place.shape == "host" and nranks > FEW else rate)


def _unpublished(curve: Curve, place: Place, found: Verdict) -> Cause | None:
    """Of a collective that nobody published and no formula tells, over a switch: only what a PCIe slot would pass is plain."""
    if not place.slot or curve.best.busbw > SLOT * place.slot or curve.collective not in LINKS_DECIDE:
        return None
    share = f", {found.line_rate_share:.0%} of the one-way line rate" if found.line_rate_share else ""
    why = f"no more than a PCIe slot passes, {bandwidth_text(place.slot)} one way: not over NVLink"
    return _cause(curve, "wrong path", f"{bandwidth_text(curve.best.busbw)}{share}: {why}")


def _short(curve: Curve, place: Place | None, found: Verdict) -> bool:
    """Whether the best is far below the plateau: on one node, where the plateau is a published one."""
    if place is None or found.plateau is None or not place.alone(curve.nranks or 0):
        return False
    least = PLATEAU if found.plateau_of == MODEL else LARGE
    return place.shape == "switch" and curve.points[-1].nbytes >= least and curve.best.busbw < HEALTHY * found.plateau


def _less_over_slots(curve: Curve, place: Place | None, found: Verdict) -> bool:
    """Whether GPUs that PCIe joins are below the best that was published of as many: no fault, as the slots differ, but worth a look."""
    if place is None or found.plateau is None or place.shape == "switch" or not place.alone(curve.nranks or 0):
        return False
    return curve.points[-1].nbytes >= LARGE and curve.best.busbw < HEALTHY * found.plateau


def _of_fit(curve: Curve, fit: Fit, alone: bool) -> Cause:
    """A suspect's curve is the reader's. It is a remark where the model may be off: between nodes, and of a version's protocols."""
    first, last = nbytes_text(fit.sizes[0]), nbytes_text(fit.sizes[-1])
    without = {
        "NVLS off": "with the ring in place of the switch that adds (NVLS)",
        "LL128 off": "without LL128",
        "only LL": "with LL alone",
    }[fit.name]
    why = (
        f"from {first} to {last} the times are those that NCCL would have {without}, within {fit.misfit:.0%}, typically"
    )
    if alone and (fit.name == "NVLS off" or curve.nccl == version_of(curve)):
        return _cause(curve, fit.name, why)
    if alone:
        why += f"; but the text does not tell a version that is known here, and these are those of {version_of(curve)}"
    else:
        why += "; but between nodes that is NCCL's own formula, which no table of this course has checked"
    return _cause(curve, fit.name, why)._replace(accuses=False)


def _not_worth_it(curve: Curve, model: Model) -> list[Cause]:
    """A remark for those who expected the switch to add, and whose largest size goes by a ring."""
    last = model.lines[-1]
    if curve.collective != "all_reduce" or last[0].algorithm.startswith("NVLS") or curve.points[-1].nbytes < LARGE:
        return []
    if not any(one.algorithm.startswith("NVLS") for one in last):
        return []
    nvls = next(one for one in last if one.algorithm.startswith("NVLS"))
    there = nvls.raw / last[0].raw
    why = (
        f"on {curve.nranks} GPUs NCCL takes the ring at {nbytes_text(curve.points[-1].nbytes)}: by its own formula"
        f" the switch that adds (NVLS) would take {there:.2f} times as long"
    )
    return [_cause(curve, "NVLS not worth it", why)]


def _host_bound(curve: Curve, model: Model) -> list[Cause]:
    """Small sizes all take the same, and much more than the published launch; what Simple alone does, too."""
    start = launch(curve, model)
    if start.nbytes > SMALL or start.times < LAUNCHES or any(one[0].corrected is None for one in model.lines):
        return []
    why = (
        f"no call is shorter than {seconds_text(start.mine)}, {start.times:.1f} times the {seconds_text(start.known)} of the"
        " published runs of this GPU: the processor that starts the kernels decides, not the links"
    )
    usual = curve.each > 1 and curve.nccl != version_of(curve) and start.times < LAUNCHES**2
    why += f"; usual where one thread starts {curve.each} GPUs (-g), and less with a process for each" if usual else ""
    found = [_cause(curve, "host-bound", why)._replace(accuses=not usual)]
    if simple_alone(curve, model):
        why = "the whole curve is also that of Simple alone (NCCL_PROTO=Simple), whose start is as long"
        found.append(_cause(curve, "only Simple", why))
    return found


def _of_plateau(curve: Curve, found: Verdict, why: str) -> str:
    share = f", {found.plateau_share:.0%} of the plateau" if found.plateau_share is not None else ""
    return f"{bandwidth_text(curve.best.busbw)}{share}: {why}"


def _cause(curve: Curve, name: str, why: str) -> Cause:
    return cause(name, why, curve.program, curve.nranks, hosts=curve.hosts)
