"""The widget `overlap`: a step's computation and its calls on two lanes, buckets to be dragged larger and smaller. Chapter: overlap.

The page computes in JavaScript what `helpers.overlap` does, tested equal.
"""

from __future__ import annotations

import traitlets

from helpers.overlap import Overlap
from helpers.units import nbytes_text
from helpers.view.overlap.asked import OverlapSpec, bucket_text, overlap_spec
from helpers.view.overlap.ways import ways
from helpers.view.overlap.words import overlap_sentence
from helpers.view.shared.mount import fallback, mount
from helpers.view.shared.widget import SpecWidget
from helpers.view.shared.words import column


def overlap_html(spec: OverlapSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript the sentence and every choice of its slider as a table."""
    if spec.mode == "recorded":
        return mount("overlap", spec.as_json(), fallback(overlap_sentence(spec), *_recorded()))
    others = spec.others
    shown = [one.shown for one in others]
    parts = {
        "Link kept": [o.communication for o in shown],
        "Hidden": [o.hidden for o in shown],
        "Exposed": [o.exposed for o in shown],
        "Step": [o.seconds for o in shown],
    }
    columns = [column(words, values, "s") for words, values in parts.items()]
    names = [f"{one.prefetch}" if spec.mode == "units" else bucket_text(one.bucket) for one in others]
    held = [nbytes_text(o.gathered) if spec.mode == "units" else "–" for o in shown]
    head = ("Prefetch" if spec.mode == "units" else "Bucket", "Calls", *(words for words, _ in columns), "Gathered")
    rows = zip(names, (len(o.calls) for o in shown), *(cells for _, cells in columns), held, strict=True)
    return mount(
        "overlap", spec.as_json(), fallback(overlap_sentence(spec), head, rows, "What is hidden, and what is not")
    )


def _recorded() -> tuple[tuple[str, ...], list[tuple[str, ...]], str]:
    """Head, rows and caption: what every recorded step took, and what the model says."""
    all_ = list(ways()["ways"].values())
    parts = {
        "Step": [way["measured"]["seconds"] for way in all_],
        "Exposed": [way["measured"]["exposed"] for way in all_],
        "by the model": [way["predicted"]["exposed"] for way in all_],
    }
    columns = [column(words, values, "s") for words, values in parts.items()]
    rows = zip((way["name"] for way in all_), *(cells for _, cells in columns), strict=True)
    return ("Way", *(words for words, _ in columns)), list(rows), "Recorded steps of four ranks"


class OverlapWidget(SpecWidget):
    """A step on one rank. `step` is what is shown now, if it is computed."""

    name = "overlap"
    about = "a step"
    spec_of, said, mounted = map(staticmethod, (overlap_spec, overlap_sentence, overlap_html))
    overlaps = traitlets.Dict().tag(sync=True)
    links = traitlets.List().tag(sync=True)

    @property
    def step(self) -> Overlap:
        return OverlapSpec.read(self.spec).shown


def explore_overlap(mode: str = "buckets", **asked: object) -> OverlapWidget:
    """A step to explore: `explore_overlap("buckets", bucket="25 MiB", tokens=4096)`, `explore_overlap("units", prefetch=1)`."""
    return OverlapWidget(overlap_spec(mode, **asked))  # type: ignore[arg-type]
