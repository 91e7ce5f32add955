"""A player in words and as a table: what a reader has without JavaScript, and what a notebook's own text says."""

from __future__ import annotations

from helpers.collectives import Price, Schedule
from helpers.facts import LINKS
from helpers.units import nbytes_text, seconds_text
from helpers.view.player.spec import PlayerSpec, prices, schedules, times
from helpers.view.shared.mount import fallback, mount
from helpers.view.shared.schedules.named import Asked
from helpers.view.shared.words import column

NOTATION = "chunk:sender⇒receiver is added, chunk:sender→receiver overwrites"


def player_sentence(spec: PlayerSpec) -> str:
    """all_reduce by ring on 4 ranks, 64 MiB, NVLink 4 (H100): 6 steps, 312 µs with LL128 by the alpha-beta model."""
    (s, *others), (cost, *costs) = schedules(spec), prices(spec)
    said = f"{s.collective} by {s.algorithm} {_where(spec, s)}: {_length(cost)} by the alpha-beta model"
    for other, its in zip(others, costs, strict=True):
        said += f"; by {other.algorithm}{_pieces(spec.rival)}: {_length(its)}"
    if spec.recorded:
        said += f"; {seconds_text(spec.recorded['seconds'])} {provenance(spec.recorded)}"
    return said


def provenance(run: dict) -> str:
    """recorded 2026-11-21: 4 ranks, gloo, CPU; AMD EPYC, 2 cores; torch 2.13.0"""
    when = f"recorded {run['date']}".strip() if run["source"] == "replay" else "measured just now"
    told = "; ".join(part for part in (run["label"], run["machine"]) if part)
    return f"{when}: {told}" if told else when


def _where(spec: PlayerSpec, s: Schedule) -> str:
    root = "" if s.root is None else f" {'to' if s.collective in ('reduce', 'gather') else 'from'} rank {s.root}"
    link = "the run's own link" if spec.link == "recorded" else LINKS[spec.link].name
    nodes = f" in nodes of {spec.gpus}" if spec.gpus else ""
    if spec.across:
        link += f", {LINKS[spec.across].name} between nodes"
        link += f" over {spec.nics} NIC{'s' * (spec.nics > 1)} each" if spec.nics else ""
    return f"on {s.nranks} ranks{nodes}{root}{_pieces(spec)}, {nbytes_text(spec.nbytes)}, {link}"


def _pieces(asked: Asked) -> str:
    cuts = {"chunks": asked.nchunks, "slices": asked.slices}
    return "".join(f" in {n} {name}" for name, n in cuts.items() if n)


def _length(cost: Price) -> str:
    steps = "1 step" if len(cost.steps) == 1 else f"{len(cost.steps)} steps"
    by = f" with {cost.protocol}" if cost.protocol else ""
    return f"{steps}, {seconds_text(cost.seconds)}{by}"


def player_html(spec: PlayerSpec) -> str:
    """The mount element of a player: its spec, and for readers without JavaScript one sentence and the schedule as a table."""
    found = list(zip(schedules(spec), prices(spec), strict=True))
    rows = [row for s, cost in found for row in _rows(s, cost, f"{s.algorithm} " if len(found) > 1 else "")]
    until, seconds = column("time so far", [t for _, _, t in rows], "s")
    told = [(step, move, t) for (step, move, _), t in zip(rows, seconds, strict=True)]
    text = fallback(f"{player_sentence(spec)}.", ("Step", "What moves", until), told, NOTATION)
    return mount("player", spec.as_json(), text)


def _rows(s: Schedule, cost: Price, name: str) -> list[tuple[str, str, float]]:
    until = times(cost)
    moves = [" ".join(map(str, step)) for step in s.steps]
    return [(f"{name}{n}", move, t) for n, (move, t) in enumerate(zip(moves, until, strict=True), 1)]
