"""What a widget gets of a schedule: its text, and what its collective promises before and after. Plain data, no drawing.

The page replays the text itself; it never builds a schedule. Chapters: ring, intro.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, lru_cache

from helpers.collectives import CATALOGUE, Schedule, promise
from helpers.collectives.ports import under
from helpers.collectives.promises import State
from helpers.facts import LINKS, Link

NBYTES, LINK = 64 * 2**20, "nvlink-4"  # where nothing else is said
NRANKS = range(2, 17)  # what the player can draw
NCHUNKS = (1, 2, 4, 8, 16)  # what it offers where an algorithm takes a chunk count
SLICES = (1, 2, 4, 6, 8, 16)  # and where it cuts every rank's chunk again,
COLUMNS = 64  # as long as the memory view can show them
SLOTS = 8  # the most that it takes by itself: as many as NCCL's buffers have (NCCL_STEPS in src/include/device.h)


PROMISES_IN_WORDS = {
    "all_reduce": "every rank holds its own data; at the end every rank must hold the sum of all",
    "reduce": "every rank holds its own data; at the end the root must hold the sum of all",
    "broadcast": "only the root holds data; at the end every rank must hold it",
    "reduce_scatter": "every rank holds its own data; at the end each rank must hold one part of the sum",
    "all_gather": "each rank holds one chunk; at the end every rank must hold all of them",
    "scatter": "only the root holds data; at the end each rank must hold its own chunk",
    "gather": "each rank holds one chunk; at the end the root must hold all of them",
    "all_to_all": "each rank holds one chunk for every rank; at the end each must have reached its receiver",
}


def as_data(schedule: Schedule) -> dict:
    """{"text", "before", "after", "factor", "promise"}.

    before, after: masks [rank][chunk], bit o set when origin o is inside, -1 where it does not matter.

    factor: busbw = algbw * factor, and factor * nbytes is the least that the busiest port must carry.
    Raises ScheduleError on a schedule that has no collective yet or does not fit it.
    """
    promised = promise(schedule.collective)
    shape = schedule.nranks, schedule.nchunks, schedule.root
    promised.accepts(*shape)
    return {
        "text": str(schedule),
        "before": _masks(promised.before, *shape),
        "after": _masks(promised.after, *shape),
        "factor": promised.bus_factor(schedule.nranks),
        "promise": PROMISES_IN_WORDS[schedule.collective],
    }


def _masks(state: State, nranks: int, nchunks: int, root: int | None) -> list[list[int]]:
    chunks = [*state.masks(nranks, nchunks, root)]
    return [[chunk.get(rank, state.fill) for chunk in chunks] for rank in range(nranks)]


def build(
    collective: str,
    algorithm: str,
    nranks: int,
    root: int | None = None,
    nchunks: int | None = None,
    slices: int | None = None,
    gpus: int | None = None,
) -> Schedule:
    """The catalogue's schedule; options only where the algorithm takes them. ValueError names what does not fit."""
    builder = CATALOGUE.get((collective, algorithm))
    if builder is None:
        known = ", ".join(" ".join(key) for key in CATALOGUE)
        raise ValueError(f"unknown schedule {collective!r} by {algorithm!r}: expected one of {known}")
    options = {"root": root, "nchunks": nchunks, "slices": slices, "gpus": gpus}
    given = {name: value for name, value in options.items() if value is not None}
    unknown = given.keys() - inspect.signature(builder).parameters.keys()
    if unknown:
        name = min(unknown)
        raise ValueError(f"{collective} by {algorithm} takes no {name}, got {name}={given[name]!r}")
    return _made(builder, nranks, tuple(given.items()))


@lru_cache(maxsize=256, typed=True)  # a player asks for its schedule in many places
def _made(builder: Callable[..., Schedule], nranks: int, given: tuple[tuple[str, int], ...]) -> Schedule:
    return builder(nranks=nranks, **dict(given))


@cache
def catalogue() -> list[dict]:
    """Every schedule that a widget can ask for, with what it takes.

    {"collective", "algorithm", "rooted", "switched", "nranks": [...], and "nchunks": [...], "slices": {"P": [...]} or
    "gpus": {"P": [...]}, by which its schedules differ on equally many ranks; null where it takes none}. With slices comes
    "pays": {"P": [[latencies, buffers], ...]}, what each of them passes through its busiest port.
    """
    return [_entry(*key) for key in CATALOGUE]


def _entry(collective: str, algorithm: str) -> dict:
    build = CATALOGUE[collective, algorithm]
    takes = inspect.signature(build).parameters
    return {
        "collective": collective,
        "algorithm": algorithm,
        "rooted": "root" in takes,
        "switched": build(nranks=2).nswitches > 0,
        "nranks": list(NRANKS),
        "nchunks": list(NCHUNKS) if "nchunks" in takes else None,
        "slices": {f"{p}": _slices(p) for p in NRANKS} if "slices" in takes else None,
        "gpus": {f"{p}": _per_node(p) for p in NRANKS} if "gpus" in takes else None,
        **({"pays": {f"{p}": _pays(build, p) for p in NRANKS}} if "slices" in takes else {}),
    }


def _slices(nranks: int) -> list[int]:
    """As many slices as the memory view has columns for."""
    return [n for n in SLICES if n * nranks <= COLUMNS]


def _pays(build: Callable, nranks: int) -> list[list[float]]:
    """[latencies, buffers] for each number of slices: the price is the first times alpha and the second times nbytes * beta."""
    profiles = [build.profile(nranks, slices=n) for n in _slices(nranks)]
    return [
        [sum(load.steps * load.messages for load in loads), float(sum(load.steps * load.share for load in loads))]
        for loads in profiles
    ]


def _per_node(nranks: int) -> list[int]:
    return [g for g in range(1, nranks + 1) if nranks % g == 0]


def offered(entry: dict, nranks: int) -> tuple[str, list[int]]:
    """The option by which an entry's schedules differ on equally many ranks, and its values; ("", []) where it takes none."""
    for name in ("slices", "gpus"):
        if entry[name]:
            return name, entry[name].get(f"{nranks}", [])
    return ("nchunks", entry["nchunks"]) if entry["nchunks"] else ("", [])


def usual(entry: dict, nranks: int, nbytes: int = NBYTES, link: Link = LINKS[LINK]) -> dict[str, int]:
    """That option's value where nothing is said: 4 chunks; slices as `sliced` has them; nodes as the algorithm's own."""
    name, values = offered(entry, nranks)
    if name == "slices":
        return {name: sliced(values, entry["pays"][f"{nranks}"], nbytes, link)}
    if name == "gpus":
        return {name: max(g for g in values if g < max(nranks, 2) and g <= 8)}
    return {name: max(n for n in values if n <= 4)} if name else {}


def sliced(values: list[int], pays: list[tuple[int, float]], nbytes: int, link: Link) -> int:
    """As many slices as NCCL's buffers have slots, where the link's switch makes them all cost the same; else as many as are cheapest."""
    few = [n for n in values if n <= SLOTS]
    if link.switch:
        return max(few)
    paid = dict(zip(values, pays, strict=True))
    return min(
        few, key=lambda n: min(by.call + paid[n][0] * by.alpha + paid[n][1] * nbytes * by.beta for by in under(link))
    )


def traces(collective: str, algorithm: str) -> dict[str, dict]:
    """Every trace of one algorithm with root 0, for the page: {"P" or "P.n": trace}, n as `offered` has it."""
    entry = next(e for e in catalogue() if (e["collective"], e["algorithm"]) == (collective, algorithm))
    found = {}
    for nranks in entry["nranks"]:
        name, values = offered(entry, nranks)
        for n in values:
            own = {name: n} if name == "gpus" else {}  # what else tells these apart stands in their text
            found[f"{nranks}.{n}"] = as_data(build(collective, algorithm, nranks, **{name: n})) | own
        if not name:
            found[f"{nranks}"] = as_data(build(collective, algorithm, nranks))
    return found


def links() -> list[dict]:
    """Every network of the course, as `as_spec` tells a link; reached: the share of its bandwidth that NCCL reaches."""
    return [
        {"slug": slug, "name": link.name, "reached": link.achievable.bandwidth / link.bandwidth, **as_spec(link)}
        for slug, link in LINKS.items()
    ]


def as_spec(link: Link) -> dict:
    """A link for the page: seconds, and bytes per second one way per GPU; where it knows them, its protocols and its switch."""
    told = {"alpha": link.alpha, "bandwidth": link.bandwidth.value}
    if link.protocol:
        told |= {"call": link.call, "protocol": link.protocol}
    if link.protocols:
        told["protocols"] = [as_spec(one) for one in link.protocols]
    if link.switch:
        rates = {"bandwidth": link.switch.bandwidth.value, "head": link.switch.head.value}
        told["switch"] = {"call": link.switch.call, **rates}
    return told
