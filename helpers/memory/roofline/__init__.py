"""How much arithmetic an operation does for each byte it moves, and what a machine can make of that."""

from helpers.memory.roofline.models import decoding, prefill
from helpers.memory.roofline.operations import (
    attention,
    decode_attention,
    elementwise,
    gemm,
    gemv,
    layer_norm,
    softmax,
)
from helpers.memory.roofline.roof import Roof
from helpers.memory.roofline.work import Pass, RooflineError, Work

__all__ = [
    "Pass",
    "Roof",
    "RooflineError",
    "Work",
    "attention",
    "decode_attention",
    "decoding",
    "elementwise",
    "gemm",
    "gemv",
    "layer_norm",
    "prefill",
    "softmax",
]
