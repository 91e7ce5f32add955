"""Inside NCCL: a message cut up, primitives of a ring, a tree, rounds in stages, a sweep, engines. Plain data in, figures out."""

from helpers.view.figures.nccl.chains import chains
from helpers.view.figures.nccl.engines import engines
from helpers.view.figures.nccl.occupied import Area, Panel, occupied
from helpers.view.figures.nccl.passes import passes
from helpers.view.figures.nccl.pipeline import pipeline
from helpers.view.figures.nccl.swept import swept
from helpers.view.figures.nccl.zoom import Level, zoom

__all__ = ["Area", "Level", "Panel", "chains", "engines", "occupied", "passes", "pipeline", "swept", "zoom"]
