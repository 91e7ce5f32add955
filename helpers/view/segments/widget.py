"""The widget `segments`: the allocator's segments and blocks, event by event, fixed and expandable. Chapter: allocator."""

from __future__ import annotations

import traitlets

from helpers.memory.allocator.rules import MIN_BLOCK
from helpers.memory.trace import Trace
from helpers.view.segments.spec import MODES, SegmentsSpec, segments_sentence, segments_spec
from helpers.view.shared.mount import fallback, mount
from helpers.view.shared.widget import CourseWidget
from helpers.view.shared.words import column

ROWS = 12  # of the fallback's table


def segments_html(spec: SegmentsSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript one sentence and the segments that each way opened."""
    named = [("expandable" if view["expandable"] else "fixed", *one) for view in spec.views for one in view["segments"]]
    head, sizes = column("Size", [size * MIN_BLOCK for *_, size in named], "B")
    rows = [(name, pool, size) for (name, pool, _), size in zip(named, sizes, strict=True)]
    many = f"{ROWS} of {len(rows)} segments" if len(rows) > ROWS else ""
    text = segments_sentence(spec)
    table = fallback(f"{text[0].upper()}{text[1:]}.", ("Segments", "Pool", head), rows[:ROWS], many)
    return mount("segments", spec.as_json(), table)


class SegmentsWidget(CourseWidget):
    """Segments as strips, blocks as cells in the colour of their class, free blocks hollow; one step per event."""

    name = "segments"
    spec = traitlets.Dict().tag(sync=True)

    def __init__(self, what: Trace | str, **options: object):
        spec = segments_spec(what, **options)
        super().__init__(spec=spec.as_json())
        self._saved = spec  # what a saved notebook shows is what the cell asked for

    @traitlets.validate("spec")
    def _valid(self, proposal: dict) -> dict:
        """The page may change the step and the mode, nothing else."""
        spec = proposal["value"]
        if spec.get("mode") not in MODES or not 0 <= spec.get("step", -1) <= len(spec.get("events", ())):
            raise traitlets.TraitError(f"no state of the widget: mode {spec.get('mode')!r}, step {spec.get('step')!r}")
        return spec

    def sentence(self) -> str:
        return segments_sentence(self._saved)

    def html(self) -> str:
        return segments_html(self._saved)


def segments(
    what: Trace | str, mode: str = "both", limit: int | str | None = None, step: int = 0, label: str = ""
) -> SegmentsWidget:
    """The allocator's model, stepped through: of `"a = 6 MiB; del a"`, a trace, or a recorded one's name. Options: `segments_spec`."""
    return SegmentsWidget(what, mode=mode, limit=limit, step=step, label=label)
