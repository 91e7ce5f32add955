"""Predictions of any nn.Module with a CPU's operators beside real steps on CPU tensors, event for event; and the allocator's own peak."""

from __future__ import annotations

import copy
import gc

import pytest
import torch
from allocators_peak import allocators_peak
from lanes import some
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from helpers.measure import predict_step, track
from helpers.measure.predict.predict import STAGES


class Attention(nn.Module):
    """x [batch, tokens, 32] -> the same, by a function that was imported before anybody stood in its place."""

    def __init__(self, heads=4, kv=4, mask="", dropout=0.0, causal=False, width=32):
        super().__init__()
        self.heads, self.kv, self.mask, self.how = heads, kv, mask, (dropout, causal)
        self.q, self.o = nn.Linear(width, width), nn.Linear(width, width)
        self.k, self.v = (nn.Linear(width, width * kv // heads) for _ in "kv")

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (n, -1)).transpose(1, 2) for f, n in self.parts())
        y = scaled_dot_product_attention(q, k, v, self.masked(x), *self.how, enable_gqa=self.heads != self.kv)
        return self.o(y.transpose(1, 2).flatten(2))

    def parts(self):
        return (self.q, self.heads), (self.k, self.kv), (self.v, self.kv)

    def masked(self, x):
        (batch, n, _), on = x.shape, {"device": x.device, "dtype": torch.bool}
        shapes = {"bool": (n, n), "float": (n, n), "padding": (batch, 1, 1, n), "a head": (self.heads, n, n)}
        mask = torch.ones(shapes[self.mask], **on) if self.mask else None
        return mask.to(x.dtype) if self.mask == "float" else mask


class Through(nn.Module):
    """A layer, and what a function makes of it."""

    def __init__(self, function, *layers):
        super().__init__()
        self.layers, self.function = nn.ModuleList(layers), function

    def forward(self, x):
        return self.function(x, *self.layers)


class Residual(nn.Module):
    """A block of a ResNet, behind its stem."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.MaxPool2d(3, 2, 1))
        self.one = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        self.two = nn.Sequential(nn.Conv2d(16, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16))
        self.past = nn.Sequential(nn.Conv2d(8, 16, 1, 2, bias=False), nn.BatchNorm2d(16))

    def forward(self, x):
        x = self.stem(x)
        y = self.two(self.one(x))
        y += self.past(x)
        return F.adaptive_avg_pool2d(F.relu(y, inplace=True), 1).flatten(1)


def itself(x, attention):
    return attention(x, x, x, need_weights=False)[0]


def on_three(x, linear):
    y = linear(x)
    return F.scaled_dot_product_attention(y, y, y)


def crossed(x, linear):
    y = linear(x).unflatten(-1, (4, 8)).transpose(1, 2)
    return F.scaled_dot_product_attention(y, y[:, :, :13], y[:, :, :13])


def in_plain(x, attention):
    with sdpa_kernel(SDPBackend.MATH):
        return attention(x)


def seq(*layers):
    return lambda: nn.Sequential(*layers)


def against(loss, **how):
    return lambda y: loss(y, torch.ones_like(y), **how)


def layer(kind=nn.TransformerEncoderLayer, dropout=0.0, **how):
    return kind(32, 4, 64, dropout, batch_first=True, **how)


TEXT, ROWS, WORDS, PICTURE = (2, 40, 32), (8, 32), (2, 10), (2, 3, 32, 32)
line, square = nn.Linear(32, 32), lambda y: y.square().mean()
mha = nn.MultiheadAttention(32, 4, batch_first=True)
# name: (what makes the module, its input's shape, the loss)
CASES = {
    "attention": (Attention, TEXT, square),
    "grouped heads": (lambda: Attention(kv=2, causal=True), (2, 512, 32), square),
    "one key head": (lambda: Attention(kv=1), TEXT, square),
    "causal": (lambda: Attention(causal=True), TEXT, square),
    "bool mask": (lambda: Attention(mask="bool"), TEXT, square),
    "float mask": (lambda: Attention(mask="float"), TEXT, square),
    "padding mask": (lambda: Attention(mask="padding"), TEXT, square),
    "a mask for each head": (lambda: Attention(mask="a head"), TEXT, square),
    "dropout": (lambda: Attention(dropout=0.1, kv=2), TEXT, square),
    "odd width": (lambda: Attention(width=20), (2, 40, 20), square),
    "three dimensions": (lambda: Through(on_three, line), TEXT, square),
    "cross attention": (lambda: Through(crossed, line), TEXT, square),
    "math by choice": (lambda: Through(in_plain, Attention()), TEXT, square),
    "MultiheadAttention": (lambda: Through(itself, mha), TEXT, square),
    "MultiheadAttention, weights": (lambda: Through(lambda x, a: a(x, x, x)[0], mha), TEXT, square),
    "TransformerEncoderLayer": (layer, TEXT, square),
    "TransformerEncoderLayer, dropout": (lambda: layer(dropout=0.1, norm_first=True), TEXT, square),
    "TransformerDecoderLayer": (
        lambda: Through(lambda x, d: d(x[:, :9], x), layer(nn.TransformerDecoderLayer)),
        TEXT,
        square,
    ),
    "Transformer": (
        lambda: Through(lambda x, t: t(x, x), nn.Transformer(32, 4, 1, 1, 64, batch_first=True)),
        TEXT,
        square,
    ),
    "ResNet": (Residual, (2, 3, 64, 64), square),
    "BatchNorm in eval": (seq(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8).eval()), PICTURE, square),
    "ConvTranspose2d": (
        seq(nn.ConvTranspose2d(3, 8, 4, 2, 1), nn.ReLU(), nn.Upsample(scale_factor=2)),
        PICTURE,
        square,
    ),
    "Conv1d, 3d": (
        lambda: Through(
            lambda x, a, b: b(a(x[:, 0]).unflatten(0, (2, 1)).unsqueeze(-1)), nn.Conv1d(32, 8, 3), nn.Conv3d(1, 2, 1)
        ),
        PICTURE,
        square,
    ),
    "GroupNorm": (seq(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.InstanceNorm2d(8)), PICTURE, square),
    "Unfold and Fold": (
        seq(nn.Conv2d(3, 4, 1), nn.Unfold(3, padding=1), nn.Fold((32, 32), 3, padding=1)),
        PICTURE,
        square,
    ),
    "LayerNorm, RMSNorm": (seq(line, nn.LayerNorm(32), nn.RMSNorm(32)), TEXT, square),
    "Dropout": (seq(line, nn.Dropout(0.1), nn.AlphaDropout(0.1), nn.RReLU()), TEXT, square),
    "Bilinear": (lambda: Through(lambda x, b: b(x, x), nn.Bilinear(32, 32, 4)), TEXT, square),
    "Embedding": (seq(nn.Embedding(50, 32, padding_idx=0), line), WORDS, square),
    "EmbeddingBag": (seq(nn.EmbeddingBag(50, 32)), WORDS, square),
    "EmbeddingBag, sum": (seq(nn.EmbeddingBag(50, 32, mode="sum")), WORDS, square),
    "activations": (seq(line, nn.GELU(), nn.SiLU(), nn.Mish(), nn.Hardswish(), nn.PReLU(), nn.GLU()), TEXT, square),
    "cells": (lambda: Through(lambda x, r, g: g(r(x)), nn.RNNCell(32, 16), nn.GRUCell(16, 8)), ROWS, square),
    "cross entropy, smoothed": (
        seq(line),
        ROWS,
        lambda y: F.cross_entropy(y, torch.zeros(8, dtype=torch.int64, device=y.device), label_smoothing=0.1),
    ),
    "mse_loss": (seq(line), TEXT, against(F.mse_loss)),
    "smooth_l1_loss": (seq(line), TEXT, against(F.smooth_l1_loss, reduction="sum")),
    "binary cross entropy": (seq(line, nn.Sigmoid()), TEXT, against(F.binary_cross_entropy)),
    "soft_margin_loss": (seq(line), TEXT, against(F.soft_margin_loss)),
    "l1, of each": (seq(line), TEXT, lambda y: F.mse_loss(y, y.detach(), reduction="none").mean() + y.abs().mean()),
}
FEW = (
    "grouped heads",
    "bool mask",
    "dropout",
    "TransformerEncoderLayer",
    "ResNet",
    "Unfold and Fold",
    "mse_loss",
    "activations",
)


def batch(shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=torch.int64 if shape is WORDS else dtype)


def step(model, x, optimizer, loss, mark=lambda name: None):
    out = model(x)
    lost = loss(out)
    mark(STAGES[0])
    lost.backward()
    del lost
    mark(STAGES[1])
    optimizer.step()
    mark(STAGES[2])
    del out
    optimizer.zero_grad()
    mark(STAGES[3])


def measured(model, x, loss):
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    with track(model, optimizer, x) as watch:
        for _ in range(2):
            step(model, x, optimizer, loss, watch.mark)
    return watch.trace


@pytest.fixture(autouse=True, scope="module")
def one_before():
    """A first step in a process may import torch's compiler on its way, whose frames hold tensors a little longer (2.11, 2.14)."""
    measured(nn.Linear(2, 2), torch.zeros(2, 2), square)


def told(trace):
    """Every event, without the names of operators: one that is taken apart has its parts' names."""
    return [(e.kind, e.nbytes, e.cls, e.module, e.phase) for e in trace.events if e.op != "start"]


@pytest.mark.parametrize("name", some(CASES, FEW, "more modules beside a CPU"))
@pytest.mark.parametrize("precision", some(["fp32", "bf16-true"], ["fp32"], "the same in bf16"))
def test_every_event_of_a_real_step(name, precision):
    make, shape, loss = CASES[name]
    dtype = torch.float32 if precision == "fp32" else torch.bfloat16
    model, x = copy.deepcopy(make()).to(dtype), batch(shape, dtype)
    said = predict_step(model, inputs=x, loss=loss, precision=precision, operators="cpu").trace
    real = measured(model, x, loss)
    assert told(real) == told(said)
    assert real.peak.nbytes == said.peak.nbytes > 1000


def scratch(tokens: int, keys: int, width: int) -> int:
    """Bytes that the CPU's attention takes inside its kernel, at most, fp32 (ATen/native/cpu/FlashAttentionKernel.cpp)."""
    rows, columns = next(n for n, least in ((256, 768), (64, 192), (32, 0)) if tokens >= least), min(512, keys)
    each = min(rows, tokens) * max(columns + 2 + width, 2 * columns + 1)
    return 4 * torch.get_num_threads() * each


@pytest.mark.parametrize("name", some(["grouped heads", "TransformerEncoderLayer"], ["grouped heads"], "one more"))
def test_the_allocator_holds_as_much_and_the_kernel_s_scratch(name):
    """Which grows with threads and not with tokens; with plain products it would be nine times as much."""
    make, _, loss = CASES[name]
    model, x = copy.deepcopy(make()), batch((2, 2048, 32))
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    step(model, x, optimizer, loss)
    gc.collect()
    real = allocators_peak(lambda: step(model, x, optimizer, loss))
    trace = predict_step(model, inputs=x, loss=loss, precision="fp32", operators="cpu").trace
    begin = next(index for index, name, _ in trace.marks if name == STAGES[3])
    said = int(max(trace.total[begin:]) - trace.total[begin])
    assert 0 <= real - said <= scratch(2048, 2048, 8) < said


REFUSED = {
    "LSTM": (nn.LSTM(32, 8), lambda y: y[0].sum(), "the model is an nn.LSTM: oneDNN on a CPU and cuDNN on a GPU"),
    "no momentum": (
        nn.BatchNorm1d(40, momentum=None),
        square,
        r"batchnorm.py:\d+ asks for a tensor's value .*num_batches_tracked",
    ),
    "which": (line, lambda y: y[y > 0].sum(), r"beside_cpu.py:\d+ asks for a tensor's value .*y > 0"),
    "multi_margin_loss": (
        Through(lambda x, a: a(x[0]), line),
        lambda y: F.multi_margin_loss(y, torch.zeros(40, dtype=torch.int64, device=y.device)),
        "cannot say what aten::multi_margin_loss_backward gives without its values",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_told_is_refused_with_its_reason(name):
    model, loss, reason = REFUSED[name]
    with pytest.raises(ValueError, match=reason):
        predict_step(model, inputs=batch(TEXT), loss=loss, precision="fp32", operators="cpu")
