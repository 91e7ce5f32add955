"""What stands beside a reader's curve: published runs, what NCCL's model says, and the plateau that can be reached. Chapter: yours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from helpers.nccl import Candidate, NotPredicted, predict
from helpers.nccl.platforms import LIKE
from helpers.nccl.releases import LATEST, release_of
from helpers.yours.places import Place
from helpers.yours.tables.curves import Curve
from helpers.yours.tables.published import Published, bus_factor, published
from helpers.yours.verdict import Beside, Foretold

SHOWN = 3  # published runs beside the reader's
CARDS = "what its network cards reach"
MODEL = "NCCL's model, as predict has it"


@dataclass(frozen=True)
class Model:
    """predict at the reader's sizes. lines: all candidates of a size, NCCL's choice first. why: nothing is predicted, because."""

    sizes: tuple[int, ...] = ()
    lines: tuple[tuple[Candidate, ...], ...] = ()
    factor: float = 1.0
    why: str = ""

    def foretold(self) -> tuple[Foretold, ...]:
        chosen = ((nbytes, table[0]) for nbytes, table in zip(self.sizes, self.lines, strict=True))
        return tuple(
            Foretold(nbytes, seconds_of(c), nbytes / seconds_of(c) * self.factor, c.algorithm, c.protocol)
            for nbytes, c in chosen
        )


def seconds_of(candidate: Candidate) -> float:
    """As the clock shows them where a table covers it, else by NCCL's own formula."""
    return candidate.raw if candidate.corrected is None else candidate.corrected


def version_of(curve: Curve) -> str:
    """The text's version where its rules are known, else the latest that are."""
    try:
        release_of(curve.nccl or LATEST)
    except ValueError:
        return LATEST
    return curve.nccl or LATEST


def model_of(curve: Curve, place: Place | None) -> Model:
    """Candidates at every size; a Model without sizes where NCCL's model says nothing."""
    if place is None or curve.collective is None or curve.nranks is None:
        return Model(why="the text does not say enough: a collective, a number of ranks and a machine are needed")
    if not place.alone(curve.nranks) and not place.ports:
        return Model(why="the text does not say which network joins the nodes: name the machine")
    sizes = tuple(point.nbytes for point in curve.points)
    version = version_of(curve)
    try:
        lines = tuple(predict(curve.collective, n, place, curve.nranks, version).candidates for n in sizes)
    except (NotPredicted, ValueError) as error:
        return Model(why=str(error))
    return Model(sizes, lines, bus_factor(curve.collective, curve.nranks) or 1.0)


def nearest(curve: Curve, place: Place | None) -> tuple[Beside, ...]:
    """Published runs of the same collective and number of ranks: of the same GPU first, then those whose times are nearest.

    Beside a table from between nodes stand those over as many nodes, beside one of a domain those of one.
    """
    same = [run for run in published() if (run.collective, run.nranks) == (curve.collective, curve.nranks)]
    beside = [(_same_gpu(run, place), _beside(curve, run)) for run in same if _alike(run, curve, place)]
    ordered = sorted(beside, key=lambda one: (not one[0], _far(one[1])))
    return tuple(one for _, one in ordered[:SHOWN])


def _alike(run: Published, curve: Curve, place: Place | None) -> bool:
    """Whether it was run in one domain as the reader's was, or over as many nodes; any where nobody tells of the reader's."""
    if place is None and not curve.hosts:
        return True
    nodes = curve.hosts if place is None else place.nodes
    if _in_one_domain(curve, place):
        return not run.ports
    return bool(run.ports) and run.nodes == (curve.hosts or nodes)


def _in_one_domain(curve: Curve, place: Place | None) -> bool:
    if place is None:
        return curve.hosts < 2
    return place.alone(curve.nranks or 0) and (curve.hosts < 2 or place.domain > place.gpus)


def plateau(curve: Curve, place: Place | None, model: Model) -> tuple[float, str] | None:
    """(busbw, of what): the best published one at sizes up to the reader's largest, between nodes by ports of as much in all; where
    nobody published one the model's, and where it says nothing what the cards of the nodes reach."""
    if place is None:
        return None
    largest = curve.points[-1].nbytes
    found = [
        (point.busbw, run.title)
        for run in published()
        if (run.collective, run.nranks) == (curve.collective, curve.nranks) and _same_gpu(run, place)
        for point in run.points
        if point.nbytes <= largest
        and _alike(run, curve, place)
        and abs(run.ports - (run.ports and place.ports)) <= 0.01 * run.ports
    ]
    found = found or [(one.busbw, MODEL) for one in model.foretold()]
    reach = place.reach(curve.nranks or 0, curve.collective)
    return max(found, default=(reach, CARDS) if reach else None)


def _same_gpu(run: Published, place: Place | None) -> bool:
    return place is not None and run.gpu in (place.accelerator, LIKE.get(place.accelerator))


def _beside(curve: Curve, run: Published) -> Beside:
    there = {point.nbytes: point.seconds for point in run.points}
    ratios = tuple((p.nbytes, p.seconds / there[p.nbytes]) for p in curve.points if p.nbytes in there)
    typical = median(ratio for _, ratio in ratios) if ratios else None
    return Beside(run.title, run.url, run.points, ratios, typical)


def _far(one: Beside) -> float:
    """How far off the typical size is; runs without a common size are last."""
    return abs(math.log(one.typical)) if one.typical else math.inf
