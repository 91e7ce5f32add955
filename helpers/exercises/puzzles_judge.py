"""How a puzzle answers: proved or not, how many steps and bytes beside the target, and a score that is counted. Chapter: puzzles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from helpers.collectives import CATALOGUE, Nodes, Schedule, check, price
from helpers.collectives.forms import Form, form
from helpers.collectives.ports import pieces
from helpers.facts import LINKS
from helpers.units import MIB, nbytes_text, seconds_text

from .answer import Answer, NotYetError
from .puzzles_rules import Rule, one_port

NBYTES = 64 * MIB  # what a right answer is priced with
LINK, ACROSS = "nvlink-4", "infiniband-ndr"  # inside a node, and between nodes


class Case(NamedTuple):
    """What an answer is called with: answer(nranks), or answer(nranks, nchunks) where the puzzle says in how many chunks."""

    nranks: int
    nchunks: int | None = None

    def __str__(self) -> str:
        return f"P = {self.nranks}" + ("" if self.nchunks is None else f", S = {self.nchunks}")


class Size(NamedTuple):
    """What a schedule costs, exactly. steps; moves: what the busiest rank sends or receives, whichever is more, in units of N.

    across: the same for the busiest NIC, where the puzzle has nodes; else 0.
    """

    steps: Fraction
    moves: Fraction
    across: Fraction = Fraction(0)

    def __str__(self) -> str:
        return f"{_steps(self.steps)}, {float(self.moves):.2f} N"


@dataclass(frozen=True, repr=False)
class Score(Answer):
    """points: 0 (not proved) to 100 (on target, or better). schedule: the one that the message is about, or None; step: where."""

    name: str = ""
    points: int = 0
    schedule: Schedule | None = field(default=None, repr=False)
    step: int = 0
    got: Size | None = None
    target: Size | None = None


@dataclass(frozen=True)
class Puzzle:
    """A schedule that the reader is to write: `puzzle(answer)` -> Score, where answer(n) -> Schedule.

    sizes: the numbers of ranks P for which it must hold. nchunks: where given, the answer is called as answer(n, nchunks) and has
    to cut the buffer into that many, S in the forms. steps, moves, across: targets in closed form (`Size`), in P, S and G.
    rival: the algorithm of the catalogue that a right answer is priced against. gpus: ranks per node, G. root: always rank 0.
    """

    name: str
    title: str
    collective: str
    task: str
    hint: str
    steps: Form | int
    moves: Form | int
    rival: str
    sizes: tuple[int, ...] = tuple(range(2, 17))
    nchunks: tuple[int, ...] = ()
    rules: tuple[Rule, ...] = (one_port,)
    nswitches: int = 0
    gpus: int | None = None
    across: Form | int = 0

    def __call__(self, answer: Callable[..., Schedule]) -> Score:
        return judge(self, answer)

    @property
    def root(self) -> int | None:
        return 0 if self.collective in ("broadcast", "reduce", "scatter", "gather") else None

    @property
    def network(self):
        """What answers are priced on: NVLink between all ranks, or nodes of it with a NIC for every GPU."""
        return Nodes(self.gpus, LINKS[LINK], LINKS[ACROSS]) if self.gpus else LINKS[LINK]

    @property
    def held(self) -> str:
        """The sizes in words: "P = 2..16" or "P = 2, 4, 8, 16"."""
        low, high = self.sizes[0], self.sizes[-1]
        run = len(self.sizes) > 2 and self.sizes == tuple(range(low, high + 1))
        chunks = f", S = {', '.join(map(str, self.nchunks))}" if self.nchunks else ""
        return f"P = {f'{low}..{high}' if run else ', '.join(map(str, self.sizes))}{chunks}"

    def cases(self) -> Iterator[Case]:
        """Smallest first."""
        return (Case(*case) for case in product(self.sizes, self.nchunks or (None,)))

    def target(self, nranks: int, nchunks: int | None = None) -> Size:
        """The target at one size, exactly."""
        targets = (self.steps, self.moves, self.across)
        return Size(*(form(target)(nranks, nchunks or 1, self.gpus or 1) for target in targets))

    def size(self, s: Schedule) -> Size:
        """What a schedule costs."""
        busiest = max((*s.sent(), *s.received()))
        return Size(Fraction(len(s.steps)), Fraction(busiest, pieces(s)), _through_nics(s, self.network))


def _through_nics(s: Schedule, network) -> Fraction:
    """What the busiest NIC passes one way, in units of N; 0 without nodes."""
    passed: dict[object, int] = {}
    for step in s.steps if isinstance(network, Nodes) else ():
        for t in step:
            for wire, _ in network.wires(t.src, t.dst)[:2]:
                passed[wire] = passed.get(wire, 0) + 1
    return Fraction(max(passed.values(), default=0), pieces(s))


# judging -------------------------------------------------------------------------------------------------------------
def judge(puzzle: Puzzle, answer: Callable[..., Schedule]) -> Score:
    """The smallest case that fails, with its place; else how far the answer is from the target, case by case."""
    found: list[tuple[Case, Schedule]] = []
    for case in puzzle.cases():
        schedule = None
        try:
            schedule = answer(*(n for n in case if n is not None))
            _fits(puzzle, case, schedule)
            check(schedule)
            for rule in puzzle.rules:
                rule(schedule)
        except Exception as error:  # the reader's own code may raise anything; it is shown, not hidden
            return _refused(puzzle, case, schedule, error)
        found.append((case, schedule))
    return _scored(puzzle, found)


def _fits(puzzle: Puzzle, case: Case, s: object) -> None:
    if not isinstance(s, Schedule):
        raise NotYetError(f"expected a Schedule, got {s!r}.")
    wanted = {
        "collective": puzzle.collective,
        "nranks": case.nranks,
        "root": puzzle.root,
        "nswitches": puzzle.nswitches,
    }
    wanted |= {} if case.nchunks is None else {"nchunks": case.nchunks}
    for name, want in wanted.items():
        if getattr(s, name) != want:
            raise NotYetError(f"expected {name}={want}, got {getattr(s, name)!r} in {str(s).splitlines()[0]!r}.")


def _refused(puzzle: Puzzle, case: Case, schedule: object, error: Exception) -> Score:
    schedule = schedule if isinstance(schedule, Schedule) else None
    text = str(error) if isinstance(error, NotYetError) or schedule else f"{type(error).__name__}: {error}"
    place = re.search(r"step (\d+)", text)
    step = (int(place[1]) if place else len(schedule.steps)) if schedule else 0
    return Score(False, f"At {case}: {text.rstrip('.')}.\nHint: {puzzle.hint}", puzzle.name, 0, schedule, step)


def _scored(puzzle: Puzzle, found: list[tuple[Case, Schedule]]) -> Score:
    sizes = [(puzzle.size(s), puzzle.target(*case)) for case, s in found]
    over = next((i for i, (got, target) in enumerate(sizes) if _beyond(got, target)), None)
    shares = [_share(*pair) for pair in sizes]
    points = int(100 * min(shares))
    shown = len(found) - 1 if over is None else over
    (case, schedule), (got, target) = found[shown], sizes[shown]
    known = (puzzle.name, points, schedule, len(schedule.steps), got, target)
    if over is not None:
        gained = _too_much(target, got, "fewer", "less")
        by = _too_much(got, target) + (f" (and {gained})" if gained else "")
        message = f"Proved for {puzzle.held}, but over the target.\nAt {case}: {_beside(got, target)}: {by}."
        worst = found[shares.index(min(shares))][0]
        return Score(False, f"{message}\nScore {points} of 100, from {worst}.\nHint: {puzzle.hint}", *known)
    message = (
        f"Proved for {puzzle.held}.\nAt {case}: {_beside(got, target)}.\n{_priced(puzzle, schedule)}\nFull score: 100."
    )
    return Score(True, message + _better(found, sizes), *known)


def _beyond(got: Size, target: Size) -> bool:
    return any(mine > aim for mine, aim in zip(got, target, strict=True))


def _share(got: Size, target: Size) -> Fraction:
    """Target over got in whatever is worst; 1 where the answer is no worse than the target."""
    return min((aim / mine for mine, aim in zip(got, target, strict=True) if mine > aim), default=Fraction(1))


def _better(found: list[tuple[Case, Schedule]], sizes: list[tuple[Size, Size]]) -> str:
    """The last case in which an answer that is nowhere worse beats the target."""
    for (case, _), (got, target) in reversed(list(zip(found, sizes, strict=True))):
        if gained := _too_much(target, got, "fewer", "less"):
            return f" Better than the target at {case}: {gained}."
    return ""


# words ---------------------------------------------------------------------------------------------------------------
def _beside(got: Size, target: Size) -> str:
    parts = [
        f"{_steps(got.steps)} (target {target.steps})",
        f"{float(got.moves):.2f} N (target {float(target.moves):.2f})",
    ]
    if target.across:
        parts.append(f"{float(got.across):.2f} N through the busiest NIC (target {float(target.across):.2f})")
    return ", ".join(parts)


def _too_much(got: Size, target: Size, many: str = "too many", much: str = "too much") -> str:
    steps, moves, across = (mine - aim for mine, aim in zip(got, target, strict=True))
    parts = [f"{_steps(steps)} {many}"] if steps > 0 else []
    parts += [f"{float(moves):.2g} N {much}"] if moves > 0 else []
    parts += [f"{float(across):.2g} N {much} through a NIC"] if across > 0 else []
    return " and ".join(parts)


def _steps(count: Fraction) -> str:
    return f"{count} step" + "s" * (count != 1)


def _priced(puzzle: Puzzle, s: Schedule) -> str:
    rival = CATALOGUE[puzzle.collective, puzzle.rival](s.nranks)
    mine, theirs = (seconds_text(price(each, NBYTES, puzzle.network).seconds) for each in (s, rival))
    where = LINKS[LINK].name + (f" and {LINKS[ACROSS].name}" if puzzle.gpus else "")
    return f"{nbytes_text(NBYTES)} over {where} take {mine} (by {puzzle.rival}: {theirs})."
