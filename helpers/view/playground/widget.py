"""The playground: draw or type a schedule for up to 8 ranks, check it, and see the counterexample move. Chapters: playground, puzzles.

The proof, the rules of the targets and the notation are the same as in `helpers.collectives` and `helpers.exercises.puzzles`;
the page computes them in JavaScript, tested equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import traitlets

from helpers.collectives import PROMISES, Schedule
from helpers.exercises.puzzles import PUZZLES
from helpers.facts import LINKS
from helpers.units import parse_nbytes
from helpers.view.shared.mount import Spec, fallback, mount
from helpers.view.shared.schedules.named import Asked, built, resolve
from helpers.view.shared.schedules.traces import PROMISES_IN_WORDS, as_data, catalogue, links
from helpers.view.shared.widget import CourseWidget

NRANKS = range(2, 9)  # more cannot be pressed
STEPS = 64  # the most that a link holds
# The puzzles that can be drawn by hand, each at one size: (nranks, nchunks). Those with a switch, nodes or trees need a keyboard.
SIZES = {
    "broadcast_rounds": (8, None),
    "scatter_bytes": (8, None),
    "broadcast_pipeline": (4, 2),
    "all_reduce_rounds": (4, None),
    "all_reduce_both": (4, None),
    "all_gather_doubling": (4, None),
    "all_gather_any": (5, None),
    "reduce_scatter_any": (5, None),
    "all_to_all_pairs": (4, None),
    "all_reduce_six": (6, None),
}


@dataclass(frozen=True)
class PlaygroundSpec(Spec):
    """The whole state of a playground: what is drawn, as text, its size and link, where the reader stands, and the puzzle, if any."""

    schedule: str
    nbytes: int
    link: str
    step: int
    task: str | None


def targets() -> list[dict]:
    """The puzzles as targets, plain data: {"name", "title", "text", "collective", "nranks", "nchunks", "root", "steps", "moves", "rules"}.

    moves: [numerator, denominator], what the busiest rank sends or receives in units of N; nchunks: None where it is free.
    """
    return [_target(name, *size) for name, size in SIZES.items()]


def _target(name: str, nranks: int, nchunks: int | None) -> dict:
    puzzle = PUZZLES[name]
    size = puzzle.target(nranks, nchunks)
    many = "1 step" if size.steps == 1 else f"{size.steps} steps"
    share = "N" if size.moves == 1 else f"{size.moves} N"
    chunks = f" in {nchunks} chunks" if nchunks else ""
    return {
        "name": name,
        "title": f"{puzzle.title}: {puzzle.collective} on {nranks} ranks{chunks}, {many}, {share}",
        "text": puzzle.task,
        "collective": puzzle.collective,
        "nranks": nranks,
        "nchunks": nchunks,
        "root": puzzle.root,
        "steps": int(size.steps),
        "moves": [size.moves.numerator, size.moves.denominator],
        "rules": [rule.__name__ for rule in puzzle.rules],
    }


def known() -> dict:
    """What the widget must know beside the catalogue and the links: {"tasks": targets, "promises": each collective's in words}."""
    return {"tasks": targets(), "promises": PROMISES_IN_WORDS}


def empty(collective: str, nranks: int = 4, nchunks: int | None = None, root: int | None = None) -> Schedule:
    """A schedule without steps, to be drawn.

    nchunks: by default 1 in broadcast and reduce, nranks² in all_to_all, else nranks. ValueError on an unknown collective, or a
    shape that it cannot have.
    """
    if collective not in PROMISES:
        raise ValueError(f"unknown collective {collective!r}: expected one of {', '.join(PROMISES)}")
    promised = PROMISES[collective]
    usual = nranks**2 if collective == "all_to_all" else nranks
    if not promised.chunks_per_rank and collective in ("broadcast", "reduce"):
        usual = 1
    root = (root or 0) if promised.rooted else root
    made = Schedule(collective, "mine", nranks, nchunks or usual, (), root)
    promised.accepts(made.nranks, made.nchunks, made.root)
    return made


def playground_spec(
    schedule: Schedule, nbytes: int | str = "64 MiB", link: str = "nvlink-4", step: int = 0, target: str | None = None
) -> PlaygroundSpec:
    """The state that the reader begins with.

    ValueError on fewer than 2 or more than 8 ranks, switches, more than 64 steps, a collective that it does not fit, or an unknown
    link or target.
    """
    s = schedule
    if s.nranks not in NRANKS or s.nswitches:
        raise ValueError(
            f"the playground draws 2 to 8 ranks and no switches, got nranks={s.nranks}, {s.nswitches} switches"
        )
    if len(s.steps) > STEPS:
        raise ValueError(f"the playground draws up to {STEPS} steps, got {len(s.steps)}")
    as_data(s)  # refuses what has no collective or does not fit it
    if link not in LINKS:
        raise ValueError(f"unknown link {link!r}: expected one of {', '.join(LINKS)}")
    if target is not None and target not in SIZES:
        raise ValueError(f"unknown target {target!r}: expected one of {', '.join(SIZES)}")
    if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step <= len(s.steps):
        raise ValueError(f"step must lie in 0..{len(s.steps)}, got {step!r}")
    return PlaygroundSpec(str(s), parse_nbytes(nbytes), link, step, target)


def playground_sentence(spec: PlaygroundSpec) -> str:
    """A playground for broadcast on 8 ranks from rank 0 in 1 chunk: no steps yet."""
    s = Schedule.parse(spec.schedule)
    root = "" if s.root is None else f" {'to' if s.collective in ('reduce', 'gather') else 'from'} rank {s.root}"
    chunks = "1 chunk" if s.nchunks == 1 else f"{s.nchunks} chunks"
    steps = f"{len(s.steps)} step" + "s" * (len(s.steps) != 1) if s.steps else "no steps yet"
    return f"a playground for {s.collective} on {s.nranks} ranks{root} in {chunks}: {steps}"


def playground_html(spec: PlaygroundSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript the task in words and the steps as a table."""
    s = Schedule.parse(spec.schedule)
    rows = [(n, " ".join(map(str, step))) for n, step in enumerate(s.steps, 1)] or [("1", "yours to write")]
    sentence = f"{playground_sentence(spec).capitalize()}. {PROMISES_IN_WORDS[s.collective].capitalize()}."
    notation = "chunk:sender⇒receiver is added, chunk:sender→receiver overwrites"
    return mount("playground", spec.as_json(), fallback(sentence, ("Step", "What moves"), rows, notation))


class Playground(CourseWidget):
    """A schedule to be drawn, typed and checked. `schedule` is what stands there now, `check(widget.schedule)` Python's own verdict."""

    name = "playground"
    spec = traitlets.Dict().tag(sync=True)
    trace = traitlets.Dict().tag(sync=True)
    catalogue = traitlets.List().tag(sync=True)
    links = traitlets.List().tag(sync=True)
    playground = traitlets.Dict().tag(sync=True)

    def __init__(self, schedule: Schedule, **state: object):
        spec = playground_spec(schedule, **state)
        super().__init__(spec=spec.as_json(), catalogue=catalogue(), links=links(), playground=known())
        self._saved = spec  # what a saved notebook shows is what the cell asked for
        self._text = spec.schedule
        self.observe(self._answer, "spec")

    @property
    def schedule(self) -> Schedule:
        """What the reader has drawn."""
        return Schedule.parse(self._text)

    def _answer(self, change: dict) -> None:
        """The reader changed the schedule, or asks for one of the catalogue's to start from."""
        asked = Asked.read(change["new"])
        if asked.schedule is not None:
            self._text = asked.schedule
            return
        try:
            self.trace = as_data(built(asked))
        except (ValueError, KeyError) as error:
            self.trace = {"error": str(error)}

    def sentence(self) -> str:
        return playground_sentence(self._saved)

    def html(self) -> str:
        return playground_html(self._saved)


def begun(what: Schedule | str, **shape: int | None) -> Schedule:
    """What to begin with: nothing yet for a collective's or a target's name; for "all_reduce ring" or a schedule, its steps."""
    if isinstance(what, str) and what in PUZZLES and what in SIZES:
        target = _target(what, *SIZES[what])
        return empty(*(target[key] for key in ("collective", "nranks", "nchunks", "root")))
    if isinstance(what, str) and len(what.split()) == 1:
        return empty(what, **shape)
    return resolve(what, **shape)


def playground(
    what: Schedule | str = "broadcast",
    nranks: int = 4,
    nchunks: int | None = None,
    root: int | None = None,
    **state: object,
) -> Playground:
    """A playground: `playground("broadcast", nranks=8)`, `playground("all_reduce ring")`, `playground("all_reduce_both")`, a target.

    state: nbytes, link, step and target as in `playground_spec`.
    """
    if isinstance(what, str) and what in SIZES:
        state.setdefault("target", what)
    return Playground(begun(what, nranks=nranks, nchunks=nchunks, root=root), **state)
