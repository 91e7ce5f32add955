"""Small figures inside the prose, one idea each, drawn when the book is built."""

from helpers.view.sketch.busiest import busiest
from helpers.view.sketch.chips import chips
from helpers.view.sketch.follow import follow
from helpers.view.sketch.halves import halves
from helpers.view.sketch.overlap import overlap
from helpers.view.sketch.page import KINDS, OPTIONS, closing, marks_of, opening, sketch
from helpers.view.sketch.product import product
from helpers.view.sketch.share import share
from helpers.view.sketch.sm import sm
from helpers.view.sketch.spread import spread
from helpers.view.sketch.svg import Moment, Sketch
from helpers.view.sketch.tiles import tiles
from helpers.view.sketch.triangle import triangle

__all__ = [
    "KINDS",
    "OPTIONS",
    "Moment",
    "Sketch",
    "busiest",
    "chips",
    "closing",
    "follow",
    "halves",
    "marks_of",
    "opening",
    "overlap",
    "product",
    "share",
    "sketch",
    "sm",
    "spread",
    "tiles",
    "triangle",
]
