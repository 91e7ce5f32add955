"""What a guess is held against: the number that a lab kept or printed, a fact, a recorded value; nobody types it.

A block names one source:

    :lab: ring_seconds                kept by the page's own lab; another one's as trees:tree_1k
    :gap: How many steps?             what that lab's `gap` printed behind the question
    :fact: torch.gloo.timeout         of helpers.facts
    :recorded: hangs-cpu:data.calls   a value of a recorded run, in seconds or bytes where the unit is one of those
    :counted: all_reduce ring 8       an algorithm of the catalogue on so many ranks: its steps, or in N what its busiest port moves
    :target: broadcast_trees 16 8     of a puzzle, on so many ranks, where it says so in so many chunks: the same two
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sphinx.environment import BuildEnvironment

from helpers import facts
from helpers.collectives import CATALOGUE
from helpers.exercises.puzzles import PUZZLES
from website.algorithms import counted, sized
from website.lab import kept, locate, outputs
from website.roles import load_run, pick

SOURCES = ("lab", "gap", "fact", "recorded", "counted", "target")
# Units that a reader may write for one another. Any other unit is a word ("steps", "%"), and stands for itself.
UNITS = (
    {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "minutes": 60.0, "hours": 3600.0},
    {"bytes": 1.0, "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40},
    {"MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12},
    {"GFLOP/s": 1e9, "TFLOP/s": 1e12, "PFLOP/s": 1e15},
)
GAP = re.compile(r"(.+?) You said .+?, it is (.+?): .*")
NUMBER = re.compile(r"(?:about )?(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class Answer:
    """value: in the unit that is asked for; text: as the page says it."""

    value: float
    text: str


def units_like(unit: str) -> dict[str, float]:
    """The units of the same kind, each with its size; of a word only itself."""
    return next((kind for kind in UNITS if unit in kind), {unit: 1.0})


def answer(env: BuildEnvironment, options: dict[str, str]) -> Answer:
    """What the block's one source says, in its unit. ValueError or KeyError on a source that is not there or does not fit."""
    named = [source for source in SOURCES if source in options]
    if len(named) != 1:
        known = f":{': or :'.join(SOURCES)}:"
        raise ValueError(f"expected one source of the answer, {known}, got {', '.join(named) or 'none'}")
    source, unit = named[0], options["unit"]
    return read(said(env, source, options[source], unit), unit)


def said(env: BuildEnvironment, source: str, key: str, unit: str) -> str:
    """The text of a source."""
    if source == "fact":
        return str(facts.lookup(key))
    if source == "recorded":
        name, _, path = key.partition(":")
        value = pick(load_run(Path(env.srcdir, "recorded"), name), path)
        return spelled(value / units_like(unit)[unit], unit)
    if source in ("counted", "target"):
        return counts(*(of_catalogue(key) if source == "counted" else of_puzzle(key)), key=key, unit=unit)
    stem, key = ("", key) if source == "gap" else locate(env, key)
    stem = stem or locate(env, "x")[0]
    found = printed(env, stem).get(key) if source == "gap" else kept(outputs(env, stem)).get(key)
    if found is None:
        raise KeyError(f"notebooks/{stem}.ipynb {'prints no gap' if source == 'gap' else 'keeps no'} {key!r}")
    return found


def of_catalogue(key: str) -> tuple[str, ...]:
    """("14 steps", "1.75 N") of "all_reduce ring 8"."""
    collective, algorithm, nranks = (key.split() + [""] * 3)[:3]
    if (collective, algorithm) not in CATALOGUE or not nranks.isdecimal():
        raise ValueError(f"expected a collective, an algorithm of the catalogue and ranks, got {key!r}")
    return counted(collective, algorithm, int(nranks))[:2]


def of_puzzle(key: str) -> tuple[str, ...]:
    """("14 steps", "1 N") of "broadcast_trees 16 8"."""
    name, *sizes = key.split()
    cases = {tuple(str(size) for size in case if size) for case in PUZZLES[name].cases()} if name in PUZZLES else set()
    if tuple(sizes) not in cases:
        raise ValueError(f"expected a puzzle and a size for which it has to hold, got {key!r}")
    target = PUZZLES[name].target(*map(int, sizes))
    return sized(int(target.steps), float(target.moves))


def counts(*texts: str, key: str, unit: str) -> str:
    """The one that is counted in the unit."""
    units = {text.partition(" ")[2]: text for text in texts}
    if unit not in units:
        raise ValueError(f"{key!r} is counted in {' and '.join(units)}, not in {unit!r}")
    return units[unit]


def printed(env: BuildEnvironment, stem: str) -> dict[str, str]:
    """Question -> truth, of every line that the lab's `gap` printed."""
    path = Path(env.srcdir, "notebooks", f"{stem}.ipynb")
    env.note_dependency(str(path))
    lines = [line for text in streams(path) for line in text.splitlines()]
    found = (GAP.fullmatch(line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def streams(path: Path) -> Iterator[str]:
    """What a notebook's cells printed."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        yield from ("".join(out["text"]) for out in cell.get("outputs", []) if out["output_type"] == "stream")


def read(text: str, unit: str) -> Answer:
    """ "9.6 ms" asked for in µs is 9600, and is told as it stands. ValueError where the unit does not fit or nothing is left to guess."""
    match = NUMBER.fullmatch(text.replace("\xa0", " ").strip())
    if not match:
        raise ValueError(f"the answer {text!r} is no number")
    number, rest = float(match[1].replace(",", "")), match[2]
    value = number * factor(rest, unit, text)
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"the answer {text!r} is not more than zero: factors of two count only there")
    return Answer(value, text if rest else f"{text} {unit}".strip())


def factor(rest: str, unit: str, text: str) -> float:
    """What makes a number with `rest` behind it one of `unit`. A bandwidth's direction and scope may follow."""
    if rest in ("", unit):
        return 1.0
    kind = units_like(unit)
    if len(kind) == 1:
        raise ValueError(f"the answer {text!r} is not in {unit!r}")
    own = next((one for one in sorted(kind, key=len, reverse=True) if rest == one or rest.startswith(f"{one} ")), None)
    if own is None:
        raise ValueError(f"the answer {text!r} is in none of {', '.join(kind)}")
    return kind[own] / kind[unit]


def spelled(value: float, unit: str) -> str:
    """ "24 µs" of 0.024 ms: in the unit of its kind in which it is at least one."""
    kind = units_like(unit)
    fitting = [one for one, size in kind.items() if value * kind[unit] >= size] or list(kind)[:1]
    best = max(fitting, key=lambda one: kind[one])
    return f"{value * kind[unit] / kind[best]:.3g} {best}"
