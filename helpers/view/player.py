"""The step player: one schedule seen as a topology, as memory and as time. Chapters: intro, ring and every later collective."""

from __future__ import annotations

from itertools import accumulate

import traitlets

from helpers.collectives import Schedule, price
from helpers.facts import LINKS
from helpers.units import nbytes_text, parse_nbytes, seconds_text
from helpers.view.mount import fallback, mount
from helpers.view.trace import NCHUNKS, NRANKS, build, catalogue, links, trace
from helpers.view.widget import CourseWidget

What = Schedule | str | tuple[str, str]


def resolve(what: What, nranks: int = 4, root: int | None = None, nchunks: int | None = None) -> Schedule:
    """A schedule from itself, "all_reduce ring", ("all_reduce", "ring") or a schedule's text form. ValueError on anything else."""
    if isinstance(what, Schedule):
        return what
    if isinstance(what, str):
        if "\n" in what or "nranks=" in what:
            return Schedule.parse(what)
        what = tuple(what.split())
    if not (isinstance(what, tuple) and len(what) == 2):
        raise ValueError(f'expected a Schedule, "all_reduce ring" or ("all_reduce", "ring"), got {what!r}')
    return build(*what, nranks, root, nchunks)


def player_spec(schedule: Schedule, nbytes: int | str = "64 MiB", link: str = "nvlink-4", step: int = 0) -> dict:
    """The whole state of a player as JSON. A schedule that the page cannot look up travels inside it, with its promise.

    ValueError on fewer than 2 or more than 16 ranks, an unknown link, or a step outside 0..len(steps).
    """
    if schedule.nranks not in NRANKS:
        raise ValueError(f"the player draws {NRANKS[0]} to {NRANKS[-1]} ranks, got nranks={schedule.nranks}")
    if link not in LINKS:
        raise ValueError(f"unknown link {link!r}: expected one of {', '.join(LINKS)}")
    if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step <= len(schedule.steps):
        raise ValueError(f"step must lie in 0..{len(schedule.steps)}, got {step!r}")
    state = {"nbytes": parse_nbytes(nbytes), "link": link, "step": step}
    return {**_identity(schedule), **state}


def _identity(s: Schedule) -> dict:
    """Which schedule: by name where the catalogue's own is meant, by text and promise otherwise."""
    named = {"collective": s.collective, "algorithm": s.algorithm, "nranks": s.nranks, "nchunks": None, "root": s.root}
    entry = next((e for e in catalogue() if (e["collective"], e["algorithm"]) == (s.collective, s.algorithm)), None)
    if entry and s.root in (0, None):
        named["nchunks"] = s.nchunks if entry["nchunks"] else None
        offered = not entry["nchunks"] or s.nchunks in NCHUNKS
        if offered and _build(named) == s:
            return named
    known = trace(s)
    return {"schedule": known.pop("text"), **known}


def _build(spec: dict) -> Schedule:
    """The schedule that a spec means."""
    if "schedule" in spec:
        return Schedule.parse(spec["schedule"])
    return build(spec["collective"], spec["algorithm"], spec["nranks"], spec.get("root") or None, spec.get("nchunks"))


def player_sentence(spec: dict) -> str:
    """all_reduce by ring on 4 ranks, 64 MiB, NVLink 4 (H100): 6 steps, 312 µs by the alpha-beta model."""
    s, link = _build(spec), LINKS[spec["link"]]
    root = "" if s.root is None else f" {'to' if s.collective in ('reduce', 'gather') else 'from'} rank {s.root}"
    chunks = f" in {spec['nchunks']} chunks" if spec.get("nchunks") else ""
    seconds = seconds_text(price(s, spec["nbytes"], link).seconds)
    where = f"on {s.nranks} ranks{root}{chunks}, {nbytes_text(spec['nbytes'])}, {link.name}"
    steps = "1 step" if len(s.steps) == 1 else f"{len(s.steps)} steps"
    return f"{s.collective} by {s.algorithm} {where}: {steps}, {seconds} by the alpha-beta model"


def player_html(spec: dict) -> str:
    """The mount element of a player: its spec, and for readers without JavaScript one sentence and the schedule as a table."""
    s = _build(spec)
    costs = price(s, spec["nbytes"], LINKS[spec["link"]]).steps
    until = accumulate(cost.seconds for cost in costs)
    moves = [" ".join(map(str, step)) for step in s.steps]
    rows = [(n, move, seconds_text(t)) for n, (move, t) in enumerate(zip(moves, until, strict=True), 1)]
    notation = "chunk:sender⇒receiver is added, chunk:sender→receiver overwrites"
    text = fallback(f"{player_sentence(spec)}.", ("Step", "What moves", "Seconds so far"), rows, notation)
    return mount("player", spec, text)


class Player(CourseWidget):
    """One schedule, three linked views. In a kernel, Python answers every change of its controls with a new trace.

    `Player("all_reduce ring", nranks=4)`, `Player(schedule)`; nbytes: size as nccl-tests counts it; link: slug of `helpers.facts.LINKS`.
    """

    name = "player"
    spec = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    trace = traitlets.Dict().tag(sync=True)
    catalogue = traitlets.List().tag(sync=True)
    links = traitlets.List().tag(sync=True)

    def __init__(
        self,
        schedule_or_key: What = "all_reduce ring",
        *,
        nranks: int = 4,
        root: int | None = None,
        nchunks: int | None = None,
        nbytes: int | str = "64 MiB",
        link: str = "nvlink-4",
        step: int = 0,
    ):
        schedule = resolve(schedule_or_key, nranks, root, nchunks)
        spec = player_spec(schedule, nbytes, link, step)
        super().__init__(spec=spec, step=step, trace=trace(schedule), catalogue=catalogue(), links=links())
        self._saved = spec  # what a saved notebook shows is what the cell asked for
        self.observe(self._answer, "spec")

    @property
    def schedule(self) -> Schedule:
        """The schedule on show, also after the reader chose another."""
        return _build(self.spec)

    def _answer(self, change: dict) -> None:
        """A control changed: the new schedule's trace, or the reason why there is none."""
        try:
            self.trace = trace(_build(change["new"]))
        except (ValueError, KeyError) as error:
            self.trace = {"error": str(error)}

    @traitlets.validate("step")
    def _valid_step(self, proposal: dict) -> int:
        last = len(self.schedule.steps) if self.spec else 0
        if not 0 <= proposal["value"] <= last:
            raise traitlets.TraitError(f"step must lie in 0..{last}, got {proposal['value']}")
        return proposal["value"]

    def sentence(self) -> str:
        return player_sentence(self._saved)

    def html(self) -> str:
        return player_html(self._saved)


def player(schedule_or_key: What = "all_reduce ring", **options: object) -> Player:
    """The step player of a schedule: `player("all_reduce ring", nranks=4)`. Options as in `Player`."""
    return Player(schedule_or_key, **options)
