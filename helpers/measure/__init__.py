"""Watching memory for real: the tracker, the prediction without the memory, the ladder of bandwidths."""

from .article import Difference, differences
from .caches import Cache, caches
from .ladder import Ladder, Rung, ladder
from .ledger import TrackError
from .like_cuda import cuda_like
from .models import build
from .predict import Prediction, predict_step
from .profiling import Stage, StepProfile, profile_step
from .published import Published, published, published_large
from .rates import Rate, gemm_rate, machine_roof
from .recipe import Recipe, RecipeError, article_model
from .sharding import Sharding
from .steps import Step
from .tracker import Watch, track
from .transfers import Pairs, Transfer, pairs, transfers
from .under_roof import Placed, Places, place
from .zero import Zero

__all__ = [
    "Cache",
    "Difference",
    "Ladder",
    "Pairs",
    "Placed",
    "Places",
    "Prediction",
    "Published",
    "Rate",
    "Recipe",
    "RecipeError",
    "Rung",
    "Sharding",
    "Stage",
    "Step",
    "StepProfile",
    "TrackError",
    "Transfer",
    "Watch",
    "Zero",
    "article_model",
    "build",
    "caches",
    "cuda_like",
    "differences",
    "gemm_rate",
    "ladder",
    "machine_roof",
    "pairs",
    "place",
    "predict_step",
    "profile_step",
    "published",
    "published_large",
    "track",
    "transfers",
]
