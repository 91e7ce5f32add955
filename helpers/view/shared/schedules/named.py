"""Which schedule is meant: by itself, by name, by its text, or by the spec of a widget. Chapters: ring and every later collective."""

from __future__ import annotations

from helpers.collectives import Schedule
from helpers.facts import LINKS, Link
from helpers.units import parse_nbytes
from helpers.view.shared.schedules.traces import LINK, NBYTES, NRANKS, build, catalogue, usual

What = Schedule | str | tuple[str, str]


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


def built(spec: dict) -> Schedule:
    """The schedule that a spec, or its rival, means."""
    if "schedule" in spec:
        return Schedule.parse(spec["schedule"])
    own = spec.get("gpus") if (entry_of(spec["collective"], spec["algorithm"]) or {}).get("gpus") else None
    options = spec.get("nchunks"), spec.get("slices"), own
    return build(spec["collective"], spec["algorithm"], spec["nranks"], spec.get("root") or None, *options)
