"""Watching memory for real: the tracker, the prediction without the memory, the ladder of bandwidths."""

from .caches import Cache, caches
from .ladder import Ladder, Rung, ladder
from .ledger import TrackError
from .like_cuda import cuda_like
from .models import build
from .predict import Prediction, predict_step
from .rates import Rate, gemm_rate, machine_roof
from .steps import Step
from .tracker import Watch, track
from .transfers import Pairs, Transfer, pairs, transfers
from .under_roof import Placed, Places, place

__all__ = [
    "Cache",
    "Ladder",
    "Pairs",
    "Placed",
    "Places",
    "Prediction",
    "Rate",
    "Rung",
    "Step",
    "TrackError",
    "Transfer",
    "Watch",
    "build",
    "caches",
    "cuda_like",
    "gemm_rate",
    "ladder",
    "machine_roof",
    "pairs",
    "place",
    "predict_step",
    "track",
    "transfers",
]
