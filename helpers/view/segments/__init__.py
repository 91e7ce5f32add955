"""The allocator's segments and blocks, event by event."""

from helpers.view.segments.spec import segments_spec
from helpers.view.segments.widget import SegmentsWidget, segments, segments_html

__all__ = [
    "SegmentsWidget",
    "segments",
    "segments_html",
    "segments_spec",
]
