"""What goes on inside NCCL: a message cut up, the primitives of a ring, a tree over nodes, rounds in stages. Plain data in, figures out."""

from helpers.view.figures.nccl.chains import chains
from helpers.view.figures.nccl.passes import passes
from helpers.view.figures.nccl.pipeline import pipeline
from helpers.view.figures.nccl.zoom import Level, zoom

__all__ = ["Level", "chains", "passes", "pipeline", "zoom"]
