"""The widget `warp`: 32 lanes at a branch, at a load from memory, at a load from shared memory; the counts follow the sliders.

The counting stands in `helpers.memory.warps`; the page computes the same in JavaScript, tested equal. Chapter: execution-model.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.memory.warps import BRANCHES, LANES, bank_conflicts, coalesce, diverge, pattern, strided
from helpers.view.shared.mount import Spec, fallback, mount
from helpers.view.shared.widget import SpecWidget
from helpers.view.shared.words import counted, percent

VIEWS = ("branch", "memory", "banks")
LENGTHS, STRIDES, OFFSETS, SIZES = range(1, 9), range(34), range(0, 129, 4), (2, 4, 8)


@dataclass(frozen=True)
class WarpSpec(Spec):
    """The whole state of the widget. view: what is drawn; taken and other: instructions in the two arms of the branch."""

    view: str
    branch: str
    taken: int
    other: int
    stride: int
    offset: int
    nbytes: int


def warp_spec(
    view: str = "memory",
    branch: str = "even or odd",
    taken: int = 4,
    other: int = 4,
    stride: int = 1,
    offset: int = 0,
    nbytes: int = 4,
) -> WarpSpec:
    """The state that the reader begins with. ValueError, naming what may stand there, on anything that cannot be drawn."""
    for name, value, allowed in (
        ("view", view, VIEWS),
        ("branch", branch, BRANCHES),
        ("taken", taken, LENGTHS),
        ("other", other, LENGTHS),
        ("stride", stride, STRIDES),
        ("offset", offset, OFFSETS),
        ("nbytes", nbytes, SIZES),
    ):
        if isinstance(value, bool) or value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(map(str, allowed))}, got {value!r}")
    return WarpSpec(view, branch, taken, other, stride, offset, nbytes)


def lengths(spec: WarpSpec) -> list[int]:
    """Instructions of every branch: even ones are `taken` long, odd ones `other`."""
    return [spec.other if branch % 2 else spec.taken for branch in range(LANES)]


def counts(spec: WarpSpec) -> dict[str, int]:
    """What the view counts: of a branch steps and useful lane-steps, of memory sectors, lines and bytes, of banks the passes."""
    if spec.view == "branch":
        got = diverge(pattern(spec.branch), lengths(spec))
        return {"steps": got.steps, "useful": got.useful, "passed": LANES * got.steps}
    if spec.view == "memory":
        got = coalesce(strided(spec.stride, spec.offset, spec.nbytes), spec.nbytes)
        return {"sectors": len(got.sectors), "lines": len(got.lines), "asked": got.asked, "moved": got.moved}
    got = bank_conflicts(strided(spec.stride))
    return {"ways": got.ways, "banks": sum(bool(words) for words in got.words), "words": sum(map(len, got.words))}


def warp_sentence(spec: WarpSpec) -> str:
    """What the picture says, with its counts."""
    n = counts(spec)
    if spec.view == "branch":
        share = percent(n["useful"], n["passed"])
        return (
            f"{'No branch' if spec.branch == 'none' else f'Branch on {spec.branch}'}: the warp issues "
            f"{counted(n['steps'], 'step')}, and {share} of the lane-steps do something"
        )
    if spec.view == "memory":
        load = f"{spec.nbytes}-byte elements, stride {spec.stride}, {counted(spec.offset, 'byte')} after a line's start"
        touched = f"{counted(n['sectors'], 'sector')} in {counted(n['lines'], 'line')}, {n['moved']} bytes moved for {n['asked']} asked"
        return f"{load}: {touched}, {percent(n['asked'], n['moved'])}"
    passes = "1 pass, no conflict" if n["ways"] == 1 else f"{n['ways']} passes, a {n['ways']}-way conflict"
    return f"Stride {spec.stride} in shared memory: {counted(n['words'], 'word')} in {n['banks']} of 32 banks, {passes}"


def warp_html(spec: WarpSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript the sentence and the counts as a table."""
    text = fallback(f"{warp_sentence(spec)}.", ("What", "How many"), counts(spec).items(), "One warp")
    return mount("warp", spec.as_json(), text)


class WarpWidget(SpecWidget):
    """One warp. `counts` is what the picture shows now."""

    name = "warp"
    about = "a warp"
    spec_of, said, mounted = map(staticmethod, (warp_spec, warp_sentence, warp_html))

    @property
    def counts(self) -> dict[str, int]:
        return counts(WarpSpec.read(self.spec))


def explore_warp(view: str = "memory", **state: int | str) -> WarpWidget:
    """One warp: `explore_warp("memory", stride=8)`, `explore_warp("branch", branch="quarters")`, `explore_warp("banks", stride=2)`."""
    return WarpWidget(warp_spec(view, **state))
