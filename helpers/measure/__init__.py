"""Watching memory for real: the tracker, the prediction without the memory, the ladder of bandwidths."""

from helpers.measure.bandwidth import steps
from helpers.measure.bandwidth.caches import Cache, caches
from helpers.measure.bandwidth.ladder import Ladder, Rung, ladder
from helpers.measure.bandwidth.rates import Rate, gemm_rate, machine_roof
from helpers.measure.bandwidth.steps import Plateau
from helpers.measure.bandwidth.transfers import HostCopy, Pairs, pairs, transfers
from helpers.measure.bandwidth.under_roof import Placed, Places, place
from helpers.measure.predict.like_cuda import cuda_like
from helpers.measure.predict.predict import Prediction, predict_step
from helpers.measure.predict.published import Published, published, published_large
from helpers.measure.profiling.article import Difference, differences
from helpers.measure.profiling.stages import Stage, StepProfile, profile_step
from helpers.step.models import build
from helpers.step.recipe import Recipe, RecipeError, article_model
from helpers.tracker.allocator import AllocatorCounts, Played, allocator_counts, model_beside, play, snapshot_after
from helpers.tracker.device import Device, find_device
from helpers.tracker.ledger import TrackError
from helpers.tracker.tracker import Tracker, track

from .sharding import Sharding

__all__ = [
    "AllocatorCounts",
    "Cache",
    "Device",
    "Difference",
    "HostCopy",
    "Ladder",
    "Pairs",
    "Placed",
    "Places",
    "Plateau",
    "Played",
    "Prediction",
    "Published",
    "Rate",
    "Recipe",
    "RecipeError",
    "Rung",
    "Sharding",
    "Stage",
    "StepProfile",
    "TrackError",
    "Tracker",
    "allocator_counts",
    "article_model",
    "build",
    "caches",
    "cuda_like",
    "differences",
    "find_device",
    "gemm_rate",
    "ladder",
    "machine_roof",
    "model_beside",
    "pairs",
    "place",
    "play",
    "predict_step",
    "profile_step",
    "published",
    "published_large",
    "snapshot_after",
    "steps",
    "track",
    "transfers",
]
