"""A verdict as a text to paste into an issue: what was said, on what it rests, and by which version of the course. Chapter: yours."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.facts import MACHINES, Fact
from helpers.units import bandwidth_text, nbytes_text, seconds_text
from helpers.version import VERSION
from helpers.yours.tables.published import published
from helpers.yours.verdict import Cause, Verdict

MOST = 40  # rows of a curve, and lines


def report(found: Verdict) -> str:
    """Markdown: what the text is, the verdict, each cause with its command and the names of its pages, the curve, the sources.

    Judge a text that went through `hidden` where names must not be in it.
    """
    if found.refused:
        return f"Not read: {_prose(found.refused)}\n\n{_version()}\n"
    parts = [f"**{_prose(found.what)}**", _prose(found.sentence)]
    parts += [f"Machine: {found.machine}."] if found.machine else []
    parts += [f"### {_title(place, one)}\n\n{_cause(one)}" for place, one in enumerate(found.causes, start=1)]
    parts += [f"### Measured\n\n{_curve(found)}"] if found.points else []
    parts += ["```text\n" + "\n".join(found.lines[:MOST]).replace("```", "'''") + "\n```"] if found.lines else []
    if sources := list(_sources(found)):
        parts.append("### Held against\n\n" + "\n".join(f"- {line}" for line in sources))
    return "\n\n".join([*parts, _version()]) + "\n"


def _title(place: int, one: Cause) -> str:
    return f"{place}. {one.name}{'' if one.accuses else ' (a remark)'}"


def _cause(one: Cause) -> str:
    """The pages by name, not by address: a copy of the course may stand anywhere."""
    repair = f", and section `{one.repair}` of Repair" if one.repair else ""
    why = _prose(f"{one.why[:1].upper()}{one.why[1:]}.")
    return f"{why} Why: chapter `{one.chapter}`{repair}. To confirm it:\n\n```sh\n{one.command}\n```"


def _curve(found: Verdict) -> str:
    points = found.points if len(found.points) <= MOST else found.points[-MOST:]
    rows = [f"| {nbytes_text(p.nbytes)} | {seconds_text(p.seconds)} | {bandwidth_text(p.busbw)} |" for p in points]
    return "\n".join(["| size | time | busbw, one way per GPU |", "|--:|--:|--:|", *rows, *_bends(found)])


def _bends(found: Verdict) -> list[str]:
    by_why: dict[str, list[str]] = {}
    for bend in found.bends:
        by_why.setdefault(bend.why, []).append(nbytes_text(bend.nbytes))
    return (
        ["", *(f"- its times jump at {', '.join(sizes)}: {_prose(why)}" for why, sizes in by_why.items())]
        if by_why
        else []
    )


def _prose(text: str) -> str:
    """What a reader's own text may hold is no markup."""
    return text.replace("<", "\\<").replace("*", "\\*")


def _sources(found: Verdict) -> Iterator[str]:
    """What each number is that the reader's was held against, and where it stands."""
    if found.line_rate:
        facts = ", ".join(map(_fact, _facts(found))) or "of the machine and the network above"
        yield f"line rate {bandwidth_text(found.line_rate)} one way per GPU: {facts}"
    if found.plateau:
        url = next((one.url for one in published() if one.title == found.plateau_of), "")
        yield f"plateau {bandwidth_text(found.plateau)}: {found.plateau_of}{f', <{url}>' if url else ''}"
    for one in found.nearest:
        times = f", {one.typical:.2f} times its seconds" if one.typical else ""
        yield f"published run: {one.title}, <{one.url}>{times}"


def _facts(found: Verdict) -> list[Fact]:
    """Of the machine in the verdict, those whose rate this is: one GPU's links, or all ports of its node."""
    machines = (one for one in MACHINES.values() if found.machine.endswith(one.title))
    rates = ((fact, one.nics) for one in machines for fact in (one.gpu, one.port) if fact)
    told = (fact for fact, ports in rates if found.line_rate in (fact.bandwidth.value, fact.bandwidth.value * ports))
    return list({fact.key: fact for fact in told}.values())


def _fact(fact: Fact) -> str:
    return f"fact `{fact.key}`, {fact.source.title}, <{fact.source.url}>"


def _version() -> str:
    return f"By *Bytes in Motion* {VERSION}, *Is my number good?*"
