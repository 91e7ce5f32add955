"""The verdict on a table of times. Chapter: yours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from helpers.units import MIB, bandwidth_text, nbytes_text
from helpers.yours.causes import cause
from helpers.yours.networks import SOCKETS
from helpers.yours.places import Place, why_unknown
from helpers.yours.tables.across import beyond_the_wire, split_remarks
from helpers.yours.tables.bends import bends
from helpers.yours.tables.beside import Model, model_of, nearest, plateau
from helpers.yours.tables.curves import OFF, Curve
from helpers.yours.tables.falls import Fall, fall_bends, fall_causes, fall_text, falls
from helpers.yours.tables.slow import slow_causes
from helpers.yours.verdict import Cause, Verdict, point_text, refusal

ALL = 0.98  # of the best: an average that needs no word
COURSE = 4  # sizes, from which on a curve has one
ENDS_EARLY = 16 * MIB  # a table that ends below tells no plateau


def of_table(curve: Curve, told: Place | None) -> Verdict:
    """told: the reader's machine, which counts more than what the text tells."""
    if not curve.points:
        return refusal("the table has no size with bytes and a time: nothing can be held against anything")
    told = told and told.taking_part(curve.nranks or 0, curve.hosts)
    place = told or (curve.place and curve.place.taking_part(curve.nranks or 0, curve.hosts))
    curve = _on_hosts(curve, place)
    wrong = _does_not_fit(curve, told)
    if wrong:
        return refusal(wrong)
    model = model_of(curve, place)
    found = Verdict("nccl-tests", curve.what, machine=_machine(curve, place), points=curve.points)
    found = _shares(found, curve, place, model)
    fallen = falls(curve, place)
    found = replace(
        found,
        nearest=nearest(curve, place),
        predicted=model.foretold(),
        unpredicted=model.why,
        bends=tuple(sorted({*bends(curve.points, model.foretold()), *fall_bends(fallen)})),
        causes=_causes(curve, place, model, found, fallen),
    )
    ends = "Nothing in it accuses the machine." if found.plateau or found.line_rate else _by_itself(curve)
    reach = place.reach(curve.nranks or 0, curve.collective) if place else None
    return replace(found, sentence=_sentence(curve, found, fallen, reach), otherwise=ends)


def _by_itself(curve: Curve) -> str:
    """How a verdict ends where the curve has only itself to be held against."""
    if len(curve.points) < COURSE or curve.points[-1].nbytes < ENDS_EARLY:
        return ""
    return "Its course shows no fall; whether its height is good, the machine decides: name it."


def _on_hosts(curve: Curve, place: Place | None) -> Curve:
    """How many hosts a table without a list of devices came from, where its machine leaves only one answer."""
    if curve.hosts or place is None or not curve.nranks or place.alone(curve.nranks):
        return curve
    return replace(curve, hosts=-(-curve.nranks // place.gpus))


def _does_not_fit(curve: Curve, told: Place | None) -> str:
    """Whether a told machine can have made the table at all."""
    if told is None or curve.nranks is None:
        return ""
    most = told.gpus * told.nodes
    if curve.nranks > most:
        return f"the table has {curve.nranks} ranks, and {told.title} has {most} GPUs: name a machine with as many"
    if curve.hosts > 1 and told.alone(curve.nranks) and told.domain <= told.gpus:
        part = f"the table's {curve.nranks} ranks were on {curve.hosts} hosts, and one node of {told.title} holds {told.gpus}"
        return f"{part} and has no network that is known here: leave the machine to the text"
    if curve.place and curve.place.accelerator[:4] != told.accelerator[:4]:
        return f"the table was made on {curve.place.accelerator}, and {told.title} has {told.accelerator}"
    return ""


def _machine(curve: Curve, place: Place | None) -> str:
    if place is None:
        return ""
    if place.told:
        return place.title
    several = place.nodes > 1 and place.domain <= place.gpus
    gpus = f"{place.nodes} nodes of {place.gpus}" if several else f"{curve.nranks or place.gpus}"
    known = f"; between nodes {place.network}, by the log beside it" if place.network else ""
    guess = ", if those have the usual rate" if place.supposed else ""
    return f"{gpus} {place.accelerator}, by the list of devices; taken to be joined as in {place.title}{known}{guess}"


def _shares(found: Verdict, curve: Curve, place: Place | None, model: Model) -> Verdict:
    if place is None or curve.nranks is None:
        return found
    best, rate = curve.best.busbw, place.line_rate(curve.nranks, curve.collective)
    found = replace(found, line_rate=rate, line_rate_share=best / rate if rate else None)
    top = plateau(curve, place, model)
    if top is None:
        return found
    return replace(found, plateau=top[0], plateau_of=top[1], plateau_share=best / top[0])


def _causes(
    curve: Curve, place: Place | None, model: Model, found: Verdict, fallen: Sequence[Fall]
) -> tuple[Cause, ...]:
    causes = []
    if curve.wrong:
        why = "some elements of the results were wrong: until that is found no time of this table counts"
        causes.append(_cause(curve, "wrong results", why))
    elif curve.off >= OFF:
        why = f"{curve.collective} does not work in place: results there are off by {curve.off:g}, and nccl-tests counts none as wrong"
        causes.append(_cause(curve, "wrong results", f"{why}; the other half counts")._replace(accuses=False))
    causes += fall_causes(curve, place, fallen)
    causes += slow_causes(curve, place, model, found) + beyond_the_wire(curve, place, found) + split_remarks(curve)
    if lacking := _lacking(curve, place):
        causes.append(_cause(curve, "no machine" if place is None else "no network", lacking))
    share = curve.average / curve.best.busbw if curve.average and curve.best.busbw else 1.0
    if curve.average and share < ALL and len(curve.points) > 1:
        why = (
            f"the table's average busbw, {bandwidth_text(curve.average)}, is {share:.0%} of its own best: it is that of the"
            f" sizes that were asked for, {_asked_for(curve)}, and no property of the machine"
        )
        causes.append(_cause(curve, "average", why))
    return tuple(causes)


def _asked_for(curve: Curve) -> str:
    """From which size on, where all of them are there."""
    if curve.partial:
        return "of which some are missing here"
    return f"from {nbytes_text(curve.points[0].nbytes)} on"


def _cause(curve: Curve, name: str, why: str) -> Cause:
    return cause(name, why, curve.program, curve.nranks, hosts=curve.hosts)


def _lacking(curve: Curve, place: Place | None) -> str:
    """What nobody knows of the machine, and what the reader can do about it; "" where all is known."""
    none = "so there is no line rate to hold it against"
    if curve.network and curve.network.kind == SOCKETS:
        return ""
    if place is None and curve.gpus:
        names = " and ".join(curve.gpus[:2]) + (" and others" if len(curve.gpus) > 2 else "")
        known = why_unknown(curve.gpus) or "no machine with such GPUs is known here"
        return f"the GPUs were {names}, and {known}, {none}: name a machine whose GPUs are joined alike"
    if place is None:
        return f"the text does not say which GPUs these were, {none}: name the machine"
    if curve.nranks and not place.alone(curve.nranks) and not place.ports:
        return f"the text does not say which network joins its {place.nodes} nodes, {none}: name the machine"
    return ""


def _sentence(curve: Curve, found: Verdict, fallen: Sequence[Fall], reach: float | None) -> str:
    """reach: what cards of the network's rate pass for NCCL, None where nobody told."""
    parts = [f"The best is {point_text(curve.best)}"]
    if found.line_rate and found.line_rate_share:
        parts.append(f"{found.line_rate_share:.0%} of the one-way line rate of {bandwidth_text(found.line_rate)}")
    if reach and found.line_rate_share and found.line_rate_share <= 1:
        parts.append(f"{curve.best.busbw / reach:.0%} of the {bandwidth_text(reach)} that such network cards reach")
    if found.plateau and found.plateau_share and found.plateau != reach:
        parts.append(f"{found.plateau_share:.0%} of {bandwidth_text(found.plateau)} ({found.plateau_of})")
    said = ", ".join(parts) + "."
    if curve.points[-1].nbytes < ENDS_EARLY:
        said += f" The table ends at {nbytes_text(curve.points[-1].nbytes)}, before a plateau shows."
    said += "".join(f" It falls: {fall_text(fall)}." for fall in fallen if fall.sizes > 1 or fall.ends)
    return said + _left_out(curve)


def _left_out(curve: Curve) -> str:
    """Which rows were no rows."""
    said = ""
    if curve.broken:
        rows = "1 row was" if curve.broken == 1 else f"{curve.broken} rows were"
        said = f" {rows} broken by other output and left out."
    return f"{said} The last row is not whole: the run, or the paste, ends within it." if curve.cut else said
