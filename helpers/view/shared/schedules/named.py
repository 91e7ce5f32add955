"""Which schedule is meant: by itself, by name, by its text, or by the spec of a widget. Chapters: ring and every later collective."""

from __future__ import annotations

from dataclasses import dataclass, fields

from helpers.collectives import Schedule
from helpers.facts import LINKS, Link
from helpers.units import parse_nbytes
from helpers.view.shared.mount import Spec
from helpers.view.shared.schedules.traces import LINK, NBYTES, NRANKS, build, catalogue, usual

What = Schedule | str | tuple[str, str]


@dataclass(frozen=True)
class Asked(Spec):
    """Which schedule a page asks for: one of the catalogue by name with its options, or any by its text in `schedule`."""

    collective: str | None = None
    algorithm: str | None = None
    nranks: int | None = None
    nchunks: int | None = None
    root: int | None = None
    slices: int | None = None
    gpus: int | None = None
    schedule: str | None = None

    def left_out(self) -> list[str]:
        """What is None; but of one of the catalogue's, nchunks and root are told as such."""
        null = () if self.schedule else ("nchunks", "root")
        return [field.name for field in fields(self) if getattr(self, field.name) is None and field.name not in null]


def entry_of(collective: str | None, algorithm: str | None) -> dict | None:
    """The catalogue's entry of that name, or None."""
    return next((e for e in catalogue() if (e["collective"], e["algorithm"]) == (collective, algorithm)), None)


def resolve(
    what: What,
    nranks: int = 4,
    root: int | None = None,
    nchunks: int | None = None,
    slices: int | None = None,
    gpus: int | None = None,
    nbytes: int | str | None = None,
    link: str | None = None,
) -> Schedule:
    """A schedule from itself, "all_reduce ring", ("all_reduce", "ring") or a schedule's text form. ValueError on anything else.

    slices: where the algorithm takes them, by default as many as are cheapest for nbytes over link, up to 8 and as the player has columns.
    gpus: of a node, where the algorithm takes them; elsewhere it is the network's alone.
    """
    if isinstance(what, Schedule):
        return what
    if isinstance(what, str):
        if "\n" in what or "nranks=" in what:
            return Schedule.parse(what)
        what = tuple(what.split())
    if not (isinstance(what, tuple) and len(what) == 2):
        raise ValueError(f'expected a Schedule, "all_reduce ring" or ("all_reduce", "ring"), got {what!r}')
    entry = entry_of(*what) or {"slices": None, "gpus": None}
    if slices is None and entry["slices"] and nranks in NRANKS:
        slices = usual(entry, nranks, size_of(nbytes), link_of(link))["slices"]
    return build(*what, nranks, root, nchunks, slices, gpus if entry["gpus"] else None)


def size_of(nbytes: int | str | None) -> int:
    """Bytes, 64 MiB where nothing is said."""
    return NBYTES if nbytes is None else parse_nbytes(nbytes)


def link_of(slug: str | None) -> Link:
    """The link of that name; NVLink 4 where none is said, and beside a recorded run, which brings its own."""
    return LINKS.get(slug, LINKS[LINK])


def built(asked: Asked) -> Schedule:
    """The schedule that a spec, or its rival, means."""
    if asked.schedule is not None:
        return Schedule.parse(asked.schedule)
    own = asked.gpus if (entry_of(asked.collective, asked.algorithm) or {}).get("gpus") else None
    return build(asked.collective, asked.algorithm, asked.nranks, asked.root or None, asked.nchunks, asked.slices, own)
