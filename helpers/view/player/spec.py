"""The whole state of a step player: which schedules, on which network, of what size, beside which recorded run.

The page and the kernel's widget are given the same. Chapters: intro, ring, hierarchy and every later collective.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

from helpers.collectives import Nodes, Price, Schedule, price
from helpers.facts import LINKS, Link
from helpers.units import Bandwidth
from helpers.view.player.recorded import compact
from helpers.view.shared.schedules.named import Asked, built, entry_of, link_of, size_of
from helpers.view.shared.schedules.traces import LINK, NBYTES, NRANKS, as_data, catalogue, offered, usual

SAME = 1e-12  # two ends closer than this share of the whole are one stop of the clock


@dataclass(frozen=True)
class PlayerSpec(Asked):
    """The schedule on show, by name, or by text with what `as_data` says of it; its size, its network, and where the reader stands.

    nbytes: as nccl-tests counts them. recorded: a run as `compact` packs it, whose link is then "recorded". gpus, across, nics:
    nodes of that many ranks. rival: the schedule beside it. The page is not given what is None.
    """

    before: list | None = None
    after: list | None = None
    factor: float | None = None
    promise: str | None = None
    recorded: dict | None = None
    nbytes: int = NBYTES
    link: str = LINK
    step: int = 0
    across: str | None = None
    nics: int | None = None
    rival: Asked | None = None

    @classmethod
    def read(cls, data: Mapping[str, object]) -> PlayerSpec:
        """As `Spec.read`, with the rival read, too."""
        rival = data.get("rival")
        return super().read({**data, "rival": Asked.read(rival) if rival else None})


def player_spec(
    schedule: Schedule,
    nbytes: int | str | None = None,
    link: str | None = None,
    step: int = 0,
    *,
    gpus: int | None = None,
    across: str | None = None,
    nics: int | None = None,
    versus: str | None = None,
    recorded: object = None,
) -> PlayerSpec:
    """The state of a player. A schedule that the page cannot look up travels inside it, with its promise.

    nbytes, link: by default 64 MiB over nvlink-4, or what the recorded run had. gpus, across, nics: nodes of that many ranks,
    with `across` between them over that many NICs a node. versus: another algorithm of the same collective, beside this one.
    recorded: a recorded run's name, the Run, or the data of it. ValueError names what does not fit.
    """
    if schedule.nranks not in NRANKS:
        raise ValueError(f"the player draws {NRANKS[0]} to {NRANKS[-1]} ranks, got nranks={schedule.nranks}")
    spec = _identity(schedule, gpus)
    if recorded is not None:
        _alone(across=across, versus=versus, link=link)
        run = compact(recorded, schedule, None if nbytes is None else size_of(nbytes))
        nbytes, link = run.pop("nbytes"), "recorded"
        spec = replace(spec, recorded=run)
    spec = replace(spec, nbytes=size_of(nbytes), link=link or LINK, step=step)
    _known("link", spec.link, [*LINKS, "recorded"] if recorded is not None else LINKS)
    if across is not None or nics is not None or (gpus is not None and spec.gpus != gpus):
        spec = replace(spec, **_nodes(schedule, spec.gpus if gpus is None else gpus, across, nics))
    if versus is not None:
        spec = replace(spec, rival=_rival(spec, schedule, versus))
    last = last_step(spec)
    if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step <= last:
        raise ValueError(f"step must lie in 0..{last}, got {step!r}")
    return spec


def _alone(**options: object) -> None:
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        raise ValueError(f"a recorded run is shown beside the model on its own link: leave out {name}={value!r}")


def _known(name: str, value: object, known: object) -> None:
    if value not in known:
        raise ValueError(f"unknown {name} {value!r}: expected one of {', '.join(known)}")


def _identity(s: Schedule, gpus: int | None) -> PlayerSpec:
    """Which schedule: by name where the catalogue's own is meant, by text and promise otherwise."""
    entry = entry_of(s.collective, s.algorithm)
    if entry and s.root in (0, None):
        named = PlayerSpec(s.collective, s.algorithm, s.nranks, root=s.root)
        name, values = offered(entry, s.nranks)
        mine = {"nchunks": s.nchunks, "slices": s.nchunks // s.nranks, "gpus": gpus}.get(name)
        for n in [mine] if mine else values or [None]:
            own = replace(named, **({name: n} if name else {}))
            if (n is None or n in values) and built(own) == s:
                return own
    known = as_data(s)
    return PlayerSpec(schedule=known.pop("text"), **known)


def _nodes(s: Schedule, gpus: int | None, across: str | None, nics: int | None) -> dict:
    """The part of a spec that says how the network is two networks."""
    if gpus is None or across is None:
        given = f"nics={nics!r}" if gpus is across else f"gpus={gpus!r}" if across is None else f"across={across!r}"
        raise ValueError(f"nodes are told by gpus, ranks in each, and across, the link between them; got {given} alone")
    _known("across", across, LINKS)
    if s.nswitches:
        raise ValueError(f"{s.algorithm} goes through a switch, which stands in no node: leave out gpus={gpus!r}")
    if isinstance(gpus, bool) or not isinstance(gpus, int) or gpus < 1 or s.nranks % gpus:
        raise ValueError(f"nodes are alike: {s.nranks} ranks do not divide into nodes of gpus={gpus!r}")
    if nics is not None and (isinstance(nics, bool) or not isinstance(nics, int) or not 1 <= nics <= gpus):
        raise ValueError(f"nics must lie in 1..{gpus}, one for every GPU of a node at most, got {nics!r}")
    return {"gpus": gpus, "across": across, "nics": nics}


def _rival(spec: PlayerSpec, s: Schedule, algorithm: str) -> Asked:
    """The other algorithm as the page looks it up: on the same ranks, cut alike where it can be."""
    _known("versus", algorithm, [e["algorithm"] for e in catalogue() if e["collective"] == s.collective])
    if s.root:
        raise ValueError(f"the page compares algorithms from rank 0 only, got root={s.root}")
    entry = entry_of(s.collective, algorithm)
    if entry["switched"] and spec.across:
        raise ValueError(f"{algorithm} goes through a switch, which stands in no node: leave out gpus={spec.gpus!r}")
    rival = Asked(s.collective, algorithm, s.nranks, root=s.root)
    name, values = offered(entry, s.nranks)
    if not name:
        return rival
    mine, cut = getattr(spec, name), usual(entry, s.nranks, spec.nbytes, link_of(spec.link))[name]
    return replace(rival, **{name: mine if mine in values else cut})


def answer(spec: PlayerSpec) -> dict:
    """The trace that a spec asks for; with a second algorithm beside it, that one's under "versus"."""
    rival = {"versus": _told(spec.rival)} if spec.rival else {}
    return {**_told(spec), **rival}


def _told(asked: Asked) -> dict:
    """The trace, as the page has it too: with the size of nodes where the schedule is made of them."""
    entry = entry_of(asked.collective, asked.algorithm)
    return as_data(built(asked)) | ({"gpus": asked.gpus} if entry and entry["gpus"] else {})


def schedules(spec: PlayerSpec) -> list[Schedule]:
    """The schedule on show, and beside it the one that it is compared with, if any."""
    return [built(which) for which in (spec, spec.rival) if which]


def network(spec: PlayerSpec) -> Link | Nodes:
    """What the spec's schedules are priced on."""
    if spec.link == "recorded":
        run = spec.recorded["link"]
        return Link(run["alpha"], Bandwidth(run["bandwidth"], "one way", "GPU"), "the run's own link")
    inside = LINKS[spec.link]
    return Nodes(spec.gpus, inside, LINKS[spec.across], spec.nics) if spec.across else inside


def prices(spec: PlayerSpec) -> list[Price]:
    """The price of each schedule of the spec, step-locked."""
    return [price(s, spec.nbytes, network(spec)) for s in schedules(spec)]


def stops(costs: list[Price]) -> list[float]:
    """Where the clock stops, in seconds from 0: the end of every step of any of the schedules."""
    ends = sorted([0.0, *(end for cost in costs for end in times(cost))])
    close = SAME * ends[-1]
    return [end for i, end in enumerate(ends) if not i or end - ends[i - 1] > close]


def times(cost: Price) -> list[float]:
    """When each step is over; the first begins with the call."""
    return list(accumulate((step.seconds for step in cost.steps), initial=cost.call))[1:]


def last_step(spec: PlayerSpec) -> int:
    """How many times a player steps from its first frame to its last."""
    return len(stops(prices(spec))) - 1 if spec.rival else len(built(spec).steps)
