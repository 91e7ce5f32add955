"""Several tables of one text: those of one collective on as many ranks are set beside each other, and who is slow among them is told.

A sweep over pairs of nodes, over single nodes or over rails runs the same thing again and again; what differs is who took part.
Chapters: yours, hierarchy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

from helpers.nccl import NcclTable, nccl_tests_tables
from helpers.units import bandwidth_text, nbytes_text
from helpers.yours.causes import cause
from helpers.yours.joined import joined
from helpers.yours.networks import Network, network_of
from helpers.yours.places import Place
from helpers.yours.tables.curves import Curve, curve_of
from helpers.yours.tables.judged import of_table
from helpers.yours.verdict import Cause, Verdict

SLOW = 0.8  # of the median of the others: healthy runs of one sweep are within a few per cent
MOST = 8  # kinds of tables that are judged
SHOWN = 24  # tables that are listed
_HEAD = re.compile(r"\bsize +count +type\b[^\n]{0,80}\balgbw\b", re.ASCII)
_HOSTS = re.compile(r"(?:^|\s)(?:-H|--?host|-w|--nodelist)[ =]([\w.:,-]{1,400})", re.ASCII)
_CARDS = re.compile(r"\bNCCL_IB_HCA=[\"']?=?([\w:,]{1,200})", re.ASCII)


class Run(NamedTuple):
    """One of the tables. hosts, rails, buses, cards: who took part, by its list of devices or the command above it; empty where nobody
    tells. buses: of the GPUs, which tell them apart where CUDA_VISIBLE_DEVICES makes each of them device 0.
    """

    curve: Curve
    place: int
    hosts: frozenset[str]
    rails: frozenset[str]
    buses: frozenset[str]
    cards: frozenset[str]


def of_tables(text: str, told: Place | None) -> Verdict:
    """Of each kind the quickest is judged, and the others are set beside it. A refused one is the verdict, if it is the first."""
    network = network_of(text)
    tables = nccl_tests_tables(text)
    lines = text.split("\n") if len(tables) > 1 else []
    runs = [_run(table, at, lines, tables[at - 1].line if at else 0, network) for at, table in enumerate(tables)]
    kinds: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        kinds.setdefault((run.curve.collective, run.curve.nranks, run.curve.gpus, run.curve.groups), []).append(run)
    found = [_of_kind(kind, told) for kind in list(kinds.values())[:MOST]]
    if found[0].refused:
        return found[0]
    empty, left = len(_HEAD.findall(text)) - len(tables), len(kinds) - len(found)
    more = f"; {empty} more without a row: a run that ended before its first size" if empty > 0 else ""
    if len(found) == 1:
        return replace(found[0], what=f"{found[0].what}{more}")
    more += f"; {left} more kinds of tables: give them alone" if left else ""
    named = zip((first.curve for first, *_ in kinds.values()), found, strict=False)
    whole = joined([replace(one, sentence=f"{_kind(of)}: {one.sentence}") for of, one in named if not one.refused])
    return replace(
        whole,
        what=f"{whole.what}{more}",
        causes=whole.causes + tuple(_scaling([run for kind in kinds.values() for run in kind])),
    )


def _scaling(runs: Sequence[Run]) -> list[Cause]:
    """A remark where one collective ran over more and more nodes: what changes from two nodes to more, and what should not."""
    best: dict[int, Curve] = {}
    for curve in sorted((run.curve for run in runs if run.curve.points), key=lambda curve: curve.best.busbw):
        if curve.collective == "all_reduce" and curve.hosts > 1 and curve.groups == 1:
            best[curve.hosts] = curve
    if len(best) < 2:
        return []
    told = ", ".join(f"{bandwidth_text(best[nodes].best.busbw)} on {nodes}" for nodes in sorted(best))
    more = [best[nodes].best.busbw for nodes in sorted(best) if nodes > 2]
    why = f"by nodes the best is {told}"
    if 2 in best:
        why += "; two nodes are joined by a tree and may exceed the wire's rate, so only three and more tell what the network carries"
    if len(more) > 1 and min(more) < SLOW * more[0]:
        why += "; a ring should hold from three nodes on, so flows collide, or a node that was added is slow"
        return [cause("colliding flows", why)]
    return [cause("beyond the wire", why)]


def _kind(curve: Curve) -> str:
    """all_reduce over 16 ranks."""
    return f"{curve.collective or 'a collective'}{f' over {curve.nranks} ranks' if curve.nranks else ''}"


def _of_kind(runs: Sequence[Run], told: Place | None) -> Verdict:
    best = max(runs, key=lambda run: run.curve.best.busbw if run.curve.points else 0.0)
    found = of_table(best.curve, told)
    if len(runs) == 1 or found.refused:
        return found
    size, rates = _rates(runs)
    if not size:
        return replace(found, what=f"{found.what}; the quickest of {len(runs)} tables without a common size")
    at = nbytes_text(size)
    spread = f"from {bandwidth_text(min(rates))} to {bandwidth_text(max(rates))} at {at}"
    unit, slow = _slowest(runs, rates)
    causes = tuple(_accused(runs, rates, unit, slow, at))
    said = causes[0].why if causes else _unnamed(rates, unit)
    lines = [
        f"{_named(run)}: {bandwidth_text(rate)} at {at}, {rate / max(rates):.0%} of the quickest"
        for run, rate in zip(runs, rates, strict=True)
    ]
    more = [f"and {len(lines) - SHOWN} more tables"] if len(lines) > SHOWN else []
    return replace(
        found,
        what=f"{found.what}; the quickest of {len(runs)} tables of it",
        sentence=f"Beside each other the {len(runs)} tables go {spread}: {said}. {found.sentence}",
        causes=causes + found.causes,
        lines=(*lines[:SHOWN], *more),
    )


def _rates(runs: Sequence[Run]) -> tuple[int, list[float]]:
    """The largest size that all have, 0 where there is none, and the busbw of each there."""
    busbw = [{point.nbytes: point.busbw for point in run.curve.points} for run in runs]
    common = set(busbw[0]).intersection(*busbw[1:])
    size = max(common, default=0)
    return size, [one[size] for one in busbw] if size else []


def _slowest(runs: Sequence[Run], rates: Sequence[float]) -> tuple[str, list[tuple[str, float, int]]]:
    """(what differs, [(who, its median over that of the others, in how many runs)]): those far below, the worst first."""
    for unit in ("hosts", "rails", "buses", "cards"):
        taken: list[frozenset[str]] = [getattr(run, unit) for run in runs]
        names = sorted(frozenset().union(*taken), key=lambda name: (len(name), name))
        if not all(taken) or len(set(taken)) < 2:
            continue
        shares = []
        for name in names:
            own = [rate for rate, who in zip(rates, taken, strict=True) if name in who]
            others = [rate for rate, who in zip(rates, taken, strict=True) if name not in who]
            if others and max(own) < SLOW * median(others):
                shares.append((name, median(own) / median(others), len(own)))
        return unit, sorted(shares, key=lambda one: one[1])
    return "", []


def _accused(
    runs: Sequence[Run], rates: Sequence[float], unit: str, slow: Sequence[tuple[str, float, int]], at: str
) -> list[Cause]:
    if not slow:
        return []
    names = [name for name, _, _ in slow]
    share, count = slow[0][1], slow[0][2]
    together = len(names) > 1 and all(_together(names, run, unit) for run in runs)
    who = f"{', '.join(names[:4])}{', ...' if len(names) > 4 else ''}"
    said = {"hosts": who, "rails": f"GPU {who} of the nodes", "buses": f"the GPU at {who}", "cards": f"card {who}"}[
        unit
    ]
    times = f"{count} of {len(runs)} {'run' if len(runs) == 1 else 'runs'}"
    why = f"the runs with {said} are {share:.0%} of the median of the others ({times}, at {at})"
    if together:
        why += ", always together: pair each of them with one that is quick"
    first = runs[0].curve
    return [cause("slow node" if unit == "hosts" else "slow rail", why, first.program, first.nranks, hosts=first.hosts)]


def _together(names: Sequence[str], run: Run, unit: str) -> bool:
    took = getattr(run, unit)
    return all(name in took for name in names) or not any(name in took for name in names)


def _unnamed(rates: Sequence[float], unit: str) -> str:
    """Where no one stands out: alike, or apart for a reason that the text does not name."""
    if min(rates) >= SLOW * max(rates):
        return f"within {1 - min(rates) / max(rates):.0%} of each other, so none stands out"
    if unit:
        return "they differ, and no node or rail is in all of the slow ones and in none of the quick ones"
    return (
        "they differ, and the text does not say in what; where it is a node or a rail, give the lists of devices, too"
    )


def _named(run: Run) -> str:
    who = ", ".join(sorted(run.hosts)) or f"table {run.place + 1}"
    rail = f", GPU {', '.join(sorted(run.rails))}" if len(run.rails) == 1 else ""
    return f"{who}{rail}{f', {chr(44).join(sorted(run.cards))}' if run.cards else ''}"


def _run(table: NcclTable, at: int, lines: Sequence[str], after: int, network: Network | None) -> Run:
    """after: the line of the table before, from which on a command is this one's."""
    above = "\n".join(lines[after : table.line]) if lines else ""
    hosts = frozenset(device.host for device in table.devices) or _listed(_HOSTS, above, ":")
    rails = frozenset(str(device.device) for device in table.devices)
    buses = frozenset(device.bus for device in table.devices)
    return Run(curve_of(table, network), at, hosts, rails, buses, _listed(_CARDS, above, ":"))


def _listed(pattern: re.Pattern[str], text: str, cut: str) -> frozenset[str]:
    """The last command's list, without numbers of slots or ports."""
    found = pattern.findall(text)
    return frozenset(part.split(cut)[0] for part in found[-1].split(",") if part) if found else frozenset()
