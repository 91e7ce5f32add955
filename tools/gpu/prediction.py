"""Whole models on the GPU beside predict_step, which has seen no GPU: bytes, and what each operator keeps for backward."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import torch

from helpers.facts import MODELS, Model
from helpers.measure import predict_step, track
from helpers.memory import Trace, pack
from helpers.step import precision as types
from helpers.step.models import build

from .counters import highest_on_cuda, on_cuda
from .memory import near, settle
from .scale import roomy

LLAMA = replace(
    MODELS["Llama-2-7B"], name="a small Llama", layers=4, hidden=1024, heads=8, kv_heads=8, ffn=2816, context=2048
)
TINY = replace(
    MODELS["GPT-2"], name="tiny", layers=2, hidden=64, heads=2, kv_heads=2, head_dim=32, ffn=256, vocab=96, context=32
)
CASES = {"gpt-2": (MODELS["GPT-2"], 4, 1024), "llama": (LLAMA, 2, 2048)}  # shape, sequences, tokens of each
SMALL = {"tiny": (TINY, 2, 32)}
FLASH, NORM = "aten::_scaled_dot_product_flash_attention", "aten::_fused_rms_norm"
# One thing by several names: which of the fused kernels for attention it is hangs on GPU, cuDNN and torch, and all keep the same bytes;
# and what the prediction makes in an RMS norm's place.
ALIKE = {
    FLASH.replace("flash", "cudnn"): FLASH,
    FLASH + "_for_cpu": FLASH,
    "aten::empty": NORM,
    "aten::empty_like": NORM,
}


def predictions(device: str) -> dict:
    """bf16, AdamW a parameter at a time, two steps: the peak, what forward keeps, and who keeps it."""
    assert device == "cuda", "the prediction is of CUDA's operators"
    found, traces = {}, {}
    for name, case in (CASES if roomy(device) else SMALL).items():
        real, requested = step(*case, device)
        shape, batch, seq = case
        predicted = predict_step(shape, batch=batch, seq=seq).trace
        found[name] = agreement(real.rounded(512), predicted)
        near(f"{name}, the peak of what was asked of the allocator", real.peak.nbytes, requested)
        traces[name] = pack(real)
    return found | {"traces": traces}


def step(shape: Model, batch: int, seq: int, device: str, steps: int = 2) -> tuple[Trace, int]:
    """The trace of real steps on CUDA, as predict_step takes them, and the most bytes that the allocator was asked for."""
    train(shape, batch, seq, device, 1)
    settle(device)
    before = on_cuda().requested
    torch.cuda.reset_peak_memory_stats()
    return train(shape, batch, seq, device, steps), highest_on_cuda().requested - before


def train(shape: Model, batch: int, seq: int, device: str, steps: int, attention: str = "flash") -> Trace:
    """The trace of `steps` steps in bf16."""
    torch.manual_seed(0)
    model = build(shape, attention=attention, device=device, dtype=torch.bfloat16)
    optimizer = types.optimizer("adamw", model.parameters(), "bf16")
    tokens = torch.randint(shape.vocab, (batch, seq), device=device)
    targets = tokens.roll(-1, 1)
    with track(model, optimizer, (tokens, targets), devices=(device,)) as watch:
        watch.register(list(optimizer.masters.values()), "optimizer")
        watch.label(label=f"{shape.name}, batch {batch}, {seq:,} tokens, bf16, adamw")
        for _ in range(steps):
            loss = model(tokens, targets)
            watch.mark("after forward")
            loss.backward()
            del loss
            optimizer.step()
            optimizer.zero_grad()
            watch.mark("after zero_grad")
    return watch.trace


def agreement(real: Trace, predicted: Trace) -> dict:
    """AssertionError unless peak and activations agree; otherwise who keeps other bytes than was predicted."""
    kept = [activations(trace) for trace in (real, predicted)]
    peaks = [trace.peak.nbytes for trace in (real, predicted)]
    differing = {op: [kept[0][op], kept[1][op]] for op in sorted({*kept[0], *kept[1]}) if kept[0][op] != kept[1][op]}
    print("kept for backward, real and predicted, where they differ:", differing)
    near("what forward keeps", sum(kept[1].values()), sum(kept[0].values()))
    return {
        "peaks": peaks,
        "share": near("the peak, predicted", peaks[1], peaks[0]),
        "operators that differ": differing,
    }


def activations(trace: Trace) -> Counter:
    """Bytes that each operator keeps for backward, all of the model together, after the last forward."""
    index = [i for i, name, _ in trace.marks if name == "after forward"][-1]
    kept: Counter = Counter()
    for block in trace.alive(index):
        if block.cls == "activation":
            kept[ALIKE.get(block.made.op, block.made.op)] += block.nbytes
    return kept
