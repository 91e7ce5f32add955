"""One step on one rank: what computes, what keeps the link, and what of that shows."""

from helpers.view.overlap.asked import OverlapSpec, overlap_spec
from helpers.view.overlap.widget import OverlapWidget, explore_overlap, overlap_html
from helpers.view.overlap.words import overlap_sentence

__all__ = [
    "OverlapSpec",
    "OverlapWidget",
    "explore_overlap",
    "overlap_html",
    "overlap_sentence",
    "overlap_spec",
]
