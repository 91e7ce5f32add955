"""`predict_step`: the memory of a training step that does not fit, from the events of the same step on the meta device.

    predict_step("Llama-2-70B", batch=1, seq=4096).peak

The model, autograd and the optimizer are torch's and run in full; only the bytes are missing. Operators are those of CUDA (like_cuda.py).
Chapters: training-memory, too-big.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter

import torch
from torch import Tensor, nn

from helpers.collector import waiting
from helpers.facts import Model
from helpers.meanwhile import aloud
from helpers.measure.sharding import Share
from helpers.measure.sharding.fsdp2 import fake_ranks
from helpers.memory import Peak, Sharding, Trace
from helpers.memory.allocator import Replay, replay
from helpers.step import checkpointing, chunked, models
from helpers.step import precision as types
from helpers.tracker.tracker import Tracker, track

from . import like_cpu
from .attention import on_cpu
from .fast_meta import FastMeta, answers, without_compiler
from .like_cuda import cuda_like
from .meta_step import MetaStep, Setup
from .truer import with_kernels

ZERO_GRADS = ("after step", "before backward")
OPERATORS = ("cuda", "cpu")
TRAINERS = ("", "hf")
STAGES = ("after forward", "after backward", "after step", "after zero_grad")


@dataclass(frozen=True, repr=False)
class Prediction:
    """What a step would need. trace: its events, every block rounded up to 512 bytes; seconds: how long the prediction took."""

    trace: Trace
    nparams: int
    seconds: float

    @property
    def peak(self) -> Peak:
        """The highest moment of all steps."""
        return self.trace.peak

    @property
    def where(self) -> tuple[str, str]:
        """(phase, module) of the peak; module "" is the model itself, around its blocks: the loss."""
        return self.peak.phase, self.peak.module

    @cached_property
    def replayed(self) -> Replay:
        """The events through the model of the allocator, fixed segments as torch has them by default; `replay(trace)` takes others."""
        return replay(self.trace)

    @property
    def allocated(self) -> int:
        """Predicted max_memory_allocated: the blocks that hold the tensors, no less than the tensors themselves."""
        return self.replayed.peak_allocated

    @property
    def reserved(self) -> int:
        """Predicted max_memory_reserved: the segments.

        Against public runs it is 6 % short at most (helpers.measure.predict.published). One stream: torch keeps the segments of
        others apart, such as those that FSDP2 gathers on. NCCL, kernels and the context come on top.
        """
        return self.replayed.peak_reserved

    @property
    def stages(self) -> list[tuple[str, int]]:
        """(name, bytes alive) at the start and after each part of every step."""
        return [(name, nbytes) for _, name, nbytes in self.trace.marks]

    def __str__(self) -> str:
        phase, module = self.where
        unit, name = next((u, n) for u, n in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")) if self.peak.nbytes >= u)
        parts = ", ".join(f"{cls} {n / unit:.2f}" for cls, n in self.peak.by_class.items() if n)
        place = f"{phase}, {module or 'the model itself'} ({self.peak.op})"
        return f"{self.trace.about['label']}: peak {self.peak.nbytes / unit:.2f} {name} in {place}: {parts}"

    __repr__ = __str__


@aloud("predicting a step")
def predict_step(
    model: Model | str | nn.Module,
    *,
    batch: int = 1,
    seq: int | None = None,
    optimizer: str = "adamw",
    precision: str = "bf16",
    checkpoint: str = "none",
    sharding: Sharding | None = None,
    steps: int = 2,
    loss: Callable[[Tensor], Tensor] | None = None,
    inputs: object = None,
    attention: str = "flash",
    dropout: float = 0.0,
    chunks: int = 1,
    chunking: str = "recompute",
    accumulate: int = 1,
    zero_grad: str = "after step",
    operators: str = "cuda",
    trainer: str = "",
) -> Prediction:
    """Predict `steps` training steps (two: an optimizer makes its state in the first one's update, so the second one peaks higher).

    model: a Model of helpers.facts, its name, or any nn.Module; then inputs are its tensors, a dict of its keyword arguments, or a
    function that makes either, and loss a function of its output. seq: tokens of a sequence, by default the model's context.
    optimizer: one of precision.OPTIMIZERS, "adamw" and "adam" a parameter at a time. precision: one of precision.PRECISIONS.
    checkpoint: one of checkpointing.CHECKPOINTS. attention "flash" or "math", dropout, chunks of the loss and
    chunking (one of chunked.CHUNKINGS; "liger" counts its chunks itself): for a Model, shared out in any way but that "liger" wants all
    tokens (no sequence=True), and "torchtitan" under ZeRO a head that is not the embedding. Context ranks drop in form "heads" only.
    accumulate: micro-batches, of `batch` each, whose gradients are added up before a step. zero_grad "before backward": a loop that
    forgets the last step's gradients only then, and so holds them through forward. sharding: what one rank of many does (Sharding);
    team and expert go with torch's FSDP2 (precision "fsdp2" and its like) as with our ZeRO. In a pipeline FSDP2 keeps what it gathered
    with zero=2, torchtitan's default there, and drops it after every forward with zero=3.
    trainer "hf": the loss, the outputs and the clipping of Hugging Face's Trainer (step/hf_trainer.py).
    operators "cpu": what torch built for the CPU runs, its choice of attention, tensors not rounded up and AdamW's step counts among them,
    for whoever wants to hold a prediction against a small real run. Under both no kernel's scratch is counted. ValueError naming what was
    given and what was expected, before anything runs; for an LSTM and its like, whose memory only oneDNN and cuDNN know; from inside the
    forward of a module that asks for a tensor's value, because there is none.
    """
    what = (model, batch, seq, optimizer, precision, checkpoint, attention, dropout, chunks)
    setup = _checked(Setup(*what, loss, inputs, accumulate, zero_grad, operators, chunking, trainer), steps, sharding)
    start = perf_counter()
    cuda = operators == "cuda"
    ranks = fake_ranks(sharding.data_ranks) if precision in types.FSDP2 else nullcontext()
    with ranks, without_compiler(), cuda_like() if cuda else with_kernels(on_cpu):
        with FastMeta():
            step = MetaStep(setup) if sharding is None else Share(setup, sharding)
            if checkpoint != "none" or chunks > 1:
                checkpointing.once_before()
        # What is freed when must not depend on a collection. The tracker asks `answers` itself: a second mode takes a fifth longer
        with waiting(), _unknown():
            trace = run(step, steps)
    nparams = sum(p.numel() for p in step.model.parameters())
    return Prediction(trace.rounded(512) if cuda else trace, nparams, perf_counter() - start)


@contextmanager
def _unknown() -> Iterator[None]:
    """An operator that torch does not know on meta tensors is an input that a prediction cannot have."""
    try:
        yield
    except NotImplementedError as error:
        said = str(error).partition(": attempted")[0]
        raise ValueError(f"torch {torch.__version__} cannot say what {said} gives without its values") from error


def run(step: MetaStep, steps: int) -> Trace:
    """The events of its steps, with a mark at each stage."""
    late = step.setup.zero_grad == ZERO_GRADS[1]
    cuda = step.setup.operators == "cuda"
    devices, answer = (("meta",), answers) if cuda else (("meta", "cpu"), like_cpu.answers)
    with track(step.model, step.optimizers, step.inputs, devices=devices, answers=answer) as watch:
        step.begin(watch)
        watch.mark("start")
        for _ in range(steps):
            for micro_batch in range(step.setup.accumulate):
                loss = step.forward()
                watch.mark(STAGES[0])
                if late and micro_batch == 0:
                    _zero_grad(step, watch)
                step.backward(loss)
                del loss
                gc.collect(0)  # a checkpoint's frames refer to each other: a real run's collector comes by soon enough
                watch.mark(STAGES[1])
            step.update()
            watch.mark(STAGES[2])
            if not late:
                step.output = None
                _zero_grad(step, watch)
        return watch.trace


def _zero_grad(step: MetaStep, watch: Tracker) -> None:
    step.zero_grad()
    watch.mark(STAGES[3])


def _checked(setup: Setup, steps: int, sharding: Sharding | None) -> Setup:
    if not isinstance(setup.model, str | Model | nn.Module):
        raise ValueError(f"model is a Model, the name of one, or an nn.Module, got {setup.model!r}")
    known = {
        "optimizer": (setup.optimizer, types.OPTIMIZERS),
        "precision": (setup.precision, (*types.PRECISIONS, *types.FSDP2)),
        "checkpoint": (setup.checkpoint, checkpointing.CHECKPOINTS),
        "attention": (setup.attention, models.ATTENTIONS),
        "zero_grad": (setup.zero_grad, ZERO_GRADS),
        "operators": (setup.operators, OPERATORS),
        "trainer": (setup.trainer, TRAINERS),
        "chunking": (setup.chunking, chunked.CHUNKINGS),
    }
    for name, (value, allowed) in known.items():
        if value not in allowed:
            raise ValueError(f"{name} is one of {', '.join(filter(None, allowed))}, got {value!r}")
    if setup.trainer and (sharding is not None or setup.chunks > 1 or setup.chunking == "liger"):
        raise ValueError(
            f"trainer {setup.trainer!r} is written for a single rank and a whole loss, got {sharding}, chunks={setup.chunks}"
        )
    if setup.precision in types.FSDP2 and sharding is None:
        raise ValueError(f"precision {setup.precision} shards: sharding is Sharding(data=..., zero=3), got None")
    for name, value in (
        ("batch", setup.batch),
        ("steps", steps),
        ("chunks", setup.chunks),
        ("accumulate", setup.accumulate),
    ):
        _positive(name, value)
    if isinstance(setup.model, nn.Module):
        _without_recurrence(setup.model, setup.operators)
        if setup.inputs is None or setup.loss is None:
            raise ValueError(
                "a module wants inputs= (tensors, a dict of them by name, or a function that makes them) and loss= (of its output)"
            )
        return setup
    if setup.inputs is not None or setup.loss is not None:
        raise ValueError("inputs= and loss= belong to an nn.Module; a Model has tokens and the cross entropy")
    shape = models.known(setup.model)
    seq = shape.context if setup.seq is None else setup.seq
    _positive("seq", seq)
    if shape.positions == "learned" and seq > shape.context:
        raise ValueError(f"{shape.name} has learned positions for {shape.context} tokens, got seq={seq}")
    return replace(setup, model=shape, seq=seq)


def _without_recurrence(model: nn.Module, operators: str) -> None:
    """Layers that oneDNN or cuDNN computes whole, and on CUDA cells, whose gates one kernel makes."""
    whole = (nn.RNNBase, nn.RNNCellBase) if operators == "cuda" else nn.RNNBase
    for name, module in model.named_modules():
        if isinstance(module, whole):
            raise ValueError(
                f"{name or 'the model'} is an nn.{type(module).__name__}: oneDNN on a CPU and cuDNN on a GPU have their own kernels for it,"
                " with memory that only they know: meta tensors tell of another one"
            )


def _positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is a positive whole number, got {value!r}")
