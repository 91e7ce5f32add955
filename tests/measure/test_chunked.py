"""The loss in pieces: the gradients of the whole loss, and logits that never stand together."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.facts import MODELS
from helpers.measure import build, predict_step, track
from helpers.measure.predict.like_cuda import cuda_like
from helpers.measure.sharding import Sharding
from helpers.step import chunked, hf_trainer
from helpers.step.checkpointing import recompute
from helpers.step.experts import Linear
from helpers.step.models import cross_entropy

SHAPE = replace(MODELS["Llama-3-8B"], layers=1, hidden=32, heads=4, kv_heads=2, head_dim=8, ffn=64, vocab=160)
ASKED = [("recompute", 4), ("torchtitan", 4), ("torchtitan", 12), ("liger", 1)]


def trained(chunking: str, chunks: int, factor: float = 1.0) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """(loss, every parameter's gradient). factor: of the loss, as a scaler of 16-bit training has it."""
    torch.manual_seed(0)
    model = build(SHAPE, device="cpu", attention="math")
    tokens = torch.randint(0, SHAPE.vocab, (2, 24))
    model.chunks, model.chunking = chunks, chunking
    loss = model(tokens, tokens.roll(-1, 1))
    (loss * factor).backward()
    return loss.detach(), [p.grad for p in model.parameters()]


@pytest.mark.parametrize("chunking, chunks", ASKED)
def test_pieces_give_the_gradients_of_the_whole(chunking, chunks):
    (whole, want), (loss, found) = trained("recompute", 1), trained(chunking, chunks)
    torch.testing.assert_close(loss, whole)
    for one, other in zip(found, want, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("chunking", ["recompute", "liger"])
def test_a_factor_on_the_loss_is_one_on_every_gradient(chunking):
    for one, other in zip(trained(chunking, 1)[1], trained(chunking, 1, 8.0)[1], strict=True):
        torch.testing.assert_close(8 * one, other, rtol=1e-4, atol=1e-6)


def test_torchtitans_pieces_refuse_a_factor_that_comes_too_late():
    with pytest.raises(ValueError, match="no factor on its loss, got 8"):
        trained("torchtitan", 4, 8.0)


def test_hugging_faces_loss_predicts_the_next_token():
    torch.manual_seed(0)
    logits, labels = torch.randn(2, 7, 11), torch.randint(0, 11, (2, 7))
    found = hf_trainer.causal_loss(logits, labels, torch.tensor(12))
    torch.testing.assert_close(found, cross_entropy(logits[:, :-1], labels[:, 1:]))


def test_liger_counts_its_pieces():
    """Llama-3-8B's table: a vocabulary 32 times as wide as the stream, so 8,192 tokens go in pieces of 256."""
    assert chunked.liger_rows(8192, 4096, 128256) == 256
    assert chunked.liger_rows(4096 * 4, 4096, 32000) == 2048  # the example in Liger's own comment
    assert [chunked.liger_rows(n, 8, 8) for n in (1, 2, 3, 5)] == [1, 2, 4, 8]


TOKENS, WIDTH, VOCAB = 8192, 4096, 128256
LOGITS, TABLE, STREAM = TOKENS * VOCAB, 2 * VOCAB * WIDTH, 2 * TOKENS * WIDTH  # elements; bytes in 16 bits
PEAKS = {
    # fp32 log-probabilities, the gradient that comes to them, and the one that leaves
    "whole": (lambda head, x, y: cross_entropy(head(x), y), 12 * LOGITS),
    # the table's gradient until now, a piece's, and their sum
    "again": (lambda head, x, y: chunked.recomputed(head, x, y, 8, recompute()), 3 * TABLE + STREAM),
    # a piece's 12, the last piece's logits, the table's gradient, and the stream's in fp32
    "at once": (lambda head, x, y: chunked.at_once(head, x, y, 8), (12 + 2) * LOGITS // 8 + TABLE + 2 * STREAM),
    # the table's gradient, a piece's in 16 bits and again in fp32; the piece's logits, and the stream's gradient
    "liger": (chunked.liger, (1 + 1 + 2) * TABLE + 2 * LOGITS // 32 + STREAM),
}


@pytest.mark.parametrize("name", PEAKS)
def test_what_the_loss_of_llama_3_8b_takes_at_its_peak(name):
    loss, want = PEAKS[name]
    like = {"device": "meta", "dtype": torch.bfloat16}
    head, x = Linear(WIDTH, VOCAB, bias=False, **like), torch.empty(1, TOKENS, WIDTH, requires_grad=True, **like)
    places = torch.empty(1, TOKENS, dtype=torch.int64, device="meta")
    with cuda_like(), track(head, None, (x, places)) as watch:
        there = int(watch.trace.total[-1])
        loss(head, x, places).backward()
    assert watch.trace.peak.nbytes - there == pytest.approx(want, rel=1e-4)


@pytest.mark.parametrize(
    "how, words",
    [
        ({"chunking": "torchtitan", "chunks": 3, "seq": 32}, "chunks divides 32 tokens, got 3"),
        ({"chunking": "vertical"}, "recompute, torchtitan, liger, got 'vertical'"),
        ({"trainer": "lightning"}, "trainer is one of hf, got 'lightning'"),
        ({"trainer": "hf", "chunks": 2}, "a whole loss, got None, chunks=2"),
        ({"trainer": "hf", "sharding": Sharding(data=2)}, "a single rank and a whole loss, got 2 data"),
        ({"precision": "fsdp2"}, r"precision fsdp2 shards: sharding is Sharding\(data=..., zero=3\), got None"),
    ],
)
def test_what_cannot_be_is_refused(how, words):
    with pytest.raises(ValueError, match=words):
        predict_step(SHAPE, **({"seq": 16} | how))
