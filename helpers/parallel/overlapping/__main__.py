"""python -m helpers.parallel.overlapping: records timelines, a sweep of buckets and FSDP2's dials on four Gloo ranks. Chapter: overlap."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable
from typing import Any

from helpers.facts import Link
from helpers.overlap import Overlap
from helpers.pipeline import SCHEDULES, Times
from helpers.ranks import Ranks
from helpers.ranks.recorded import machine, record
from helpers.units import KIB, Bandwidth, nbytes_text, seconds_text

from .dials import turned, unit_nbytes
from .lanes import BUSY, Step, oversleep
from .piped import piped
from .ways import WAYS, Layer, measured, predicted

NAME, COMMAND = "timeline-cpu", "python -m helpers.parallel.overlapping"
NRANKS, REPS, TRIES, LIMIT = 4, 5, 12, 120.0
LINK = Link(10e-3, Bandwidth(10e6, "one way", "GPU", "fitted"))  # slow, so that a busy machine is not mistaken for it
LAYERS = (Layer(8e-3, 40e-3, 96 * KIB),) * 8
BUCKET = 2 * 96 * KIB
SIZES = tuple(n * 96 * KIB for n in (1, 2, 3, 4, 8))
STAGES = Times(20e-3, 20e-3, 20e-3)
MICROBATCHES = 4


def middle(steps: Iterable[list[Step]]) -> list[Step]:
    """The step whose exposed time, as the mean of its ranks, is the median."""
    order = sorted(steps, key=lambda step: statistics.mean(one.exposed for one in step))
    return order[len(order) // 2]


def told(steps: list[list[Step]], paper: Overlap) -> dict[str, Any]:
    """Medians over ranks and steps, beside the model."""
    every = [one for step in steps for one in step]
    found = {
        name: statistics.median(getattr(one, name) for one in every) for name in ("seconds", "computed", "exposed")
    }
    found["communication"] = statistics.median(one.communication for one in every)
    model = {name: getattr(paper, name) for name in ("seconds", "computed", "communication", "exposed", "hidden")}
    return {"measured": found, "predicted": model | {"calls": len(paper.calls)}}


def replayed(step: list[Step]) -> list[dict[str, Any]]:
    """Every rank's events, seconds to the microsecond."""
    return [
        event._asdict() | {"start": round(event.start, 6), "end": round(event.end, 6)}
        for one in step
        for event in one.events
    ]


def quiet(ranks: Ranks, way: str, nbytes: int) -> list[list[Step]]:
    """The first steps whose sleeps ended when they should, whatever they show. RuntimeError on a machine that is too busy."""
    want = predicted(way, LAYERS, LINK, NRANKS, nbytes).computed
    for _ in range(TRIES):
        steps = ranks.run(measured, way, LAYERS, nbytes, REPS, limit=LIMIT)[0]
        if oversleep(steps, want) <= BUSY:
            return steps
    raise RuntimeError(f"a busy machine: in {TRIES} tries sleeps took more than {BUSY:.0%} longer than asked")


def timelines(ranks: Ranks) -> dict[str, Any]:
    """Every way's median step."""
    found = {}
    for way in WAYS:
        steps = quiet(ranks, way, BUCKET)
        found[way] = told(steps, predicted(way, LAYERS, LINK, NRANKS, BUCKET)) | {"events": replayed(middle(steps))}
        print(f"{way:<20}{_line(found[way])}")
    return found


def sweep(ranks: Ranks) -> list[dict[str, Any]]:
    """Data parallel, overlapped, bucket size by bucket size."""
    found = []
    for nbytes in SIZES:
        steps = quiet(ranks, "overlapped", nbytes)
        found.append({"bucket_bytes": nbytes, **told(steps, predicted("overlapped", LAYERS, LINK, NRANKS, nbytes))})
        print(f"{nbytes_text(nbytes):<20}{_line(found[-1])}")
    return found


def _line(found: dict[str, Any]) -> str:
    mine, model = found["measured"], found["predicted"]
    hidden = max(mine["communication"] - mine["exposed"], 0)
    off = mine["exposed"] / model["exposed"] - 1
    words = [f"exposed {seconds_text(mine['exposed'])}", f"model {seconds_text(model['exposed'])} ({off:+.1%})"]
    return "  ".join([*words, f"hidden {hidden / mine['communication']:.0%} of {seconds_text(mine['communication'])}"])


def main(argv: list[str] | None = None) -> int:
    """Run all of it and write the file. RuntimeError, and nothing is written, on a machine that is too busy."""
    argparse.ArgumentParser(prog=COMMAND, description=__doc__.partition("\n")[0]).parse_args(argv)
    with Ranks(NRANKS, backend="gloo", link=LINK, timeout=60) as ranks:
        label = ranks.label
        data: dict[str, Any] = {"ways": timelines(ranks), "sweep": sweep(ranks)}
    with Ranks(NRANKS, backend="gloo", timeout=120) as ranks:
        s = SCHEDULES["1f1b"](NRANKS, MICROBATCHES)
        step = middle(ranks.run(piped, s, STAGES, 3, limit=LIMIT)[0])
        data["pipeline"] = {"schedule": "1f1b", "microbatches": MICROBATCHES, "events": replayed(step)}
        data["dials"] = {"unit": unit_nbytes(), "turned": [one._asdict() for one in ranks.run(turned)[0]]}
    data["link"] = {"alpha": LINK.alpha, "bandwidth": LINK.bandwidth.one_way.value}
    data["layers"], data["bucket_bytes"] = [layer._asdict() for layer in LAYERS], BUCKET
    record(
        NAME, data, COMMAND, f"{label}, {NRANKS} ranks on {machine()['cores']} cores, layers sleep instead of computing"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
