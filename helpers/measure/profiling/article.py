"""The memory table of the article that this course grew from, beside the true one, with every difference explained.

Its table gives no batch; its 8.00 are the mebibytes of any 4,096 tokens of this width, so all such batches are compared.
Chapters: training-memory.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from .stages import STAGES, StepProfile, profile_step

PRINTED = (0.00, 75.60, 83.60, 155.00, 151.20, 302.40, 226.80)  # "Allocated (MB)", in the order of STAGES
BATCHES = ((32, 128), (16, 256), (8, 512))  # (batch, tokens): 4,096 tokens, 8 MiB of input


class Difference(NamedTuple):
    """A stage: what the article prints (its "MB"), bytes here on CPU for each of BATCHES, bytes as on CUDA, and why they differ."""

    stage: str
    printed: float | None
    cpu: tuple[int, ...]
    cuda_like: int
    why: str


WHY = (
    "the same",
    "75.60 is 18.9 million parameters of 4 bytes in decimal megabytes; the next row adds mebibytes to it",
    "8.00 is in mebibytes: 4,096 tokens of 512 fp32 numbers",
    "what autograd keeps is ten times as much, and more where the CPU's attention and dropout keep fp32 copies",
    "twice the row of the model: the input, the output and the loss have gone, though the script still holds them",
    "four times the row of the model, again without what is still alive",
    "three times the row of the model, again without what is still alive",
    "not in the article: it lies between two stages",
)


@cache
def _profiles() -> tuple[list[StepProfile], StepProfile]:
    cpu = [profile_step(batch=batch, seq=seq, optimizer="adam") for batch, seq in BATCHES]
    return cpu, profile_step(batch=BATCHES[0][0], seq=BATCHES[0][1], optimizer="adamw-foreach", like_cuda=True)


def differences() -> list[Difference]:
    """Eight rows, the seven stages and the peak; about three seconds, on the meta device (equal to CPU tensors, event by event)."""
    cpu, gpu = _profiles()
    rows = [
        Difference(name, printed, tuple(p.stage(name).nbytes for p in cpu), gpu.stage(name).nbytes, why)
        for name, printed, why in zip(STAGES, PRINTED, WHY, strict=False)
    ]
    return [*rows, Difference("the peak", None, tuple(p.peak.nbytes for p in cpu), gpu.peak.nbytes, WHY[-1])]
