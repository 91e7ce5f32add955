"""Decoding on tensor ranks: the tokens of one process, two sums a layer and token, a part of the cache; and its price on paper."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist

from helpers.facts import ACCELERATORS, MACHINES, MODELS
from helpers.ledger.decoding import decode_bytes, decoding
from helpers.memory.closed_form import FormError, kv_cache
from helpers.parallel.counting import counted
from helpers.parallel.model import Transformer
from helpers.parallel.tensor.decoding import Decoder, greedy, greedy_alone

SMALL, BATCH, PROMPT, NTOKENS = Transformer(kv_heads=4, seq=12), 3, 5, 6


def prompt():
    return SMALL.data(0, 0, BATCH).x[:, :PROMPT]


def decoded():
    """Inside a rank: (tokens, calls and bytes of the prompt, the same of the tokens, bytes of the cache)."""
    torch.set_num_threads(1)
    decoder = Decoder(SMALL, SMALL.init(), dist.group.WORLD)
    with counted() as first:
        token = decoder.step(prompt()).argmax(-1, keepdim=True)
    with counted() as later:
        tokens = [token]
        for _ in range(NTOKENS - 1):
            tokens.append(decoder.step(tokens[-1]).argmax(-1, keepdim=True))
    again = greedy(Decoder(SMALL, SMALL.init(), dist.group.WORLD), prompt(), NTOKENS)
    return torch.cat(tokens, 1), first, later, decoder.cached, again


def test_ranks_decode_what_one_process_does(ranks):
    want = greedy_alone(SMALL, SMALL.init(), prompt(), NTOKENS)
    assert len(want.unique()) > 1
    one = 8 * BATCH * SMALL.width
    for tokens, first, later, cached, again in ranks.run(decoded):
        assert torch.equal(tokens, want) and torch.equal(again, want)
        assert first.by_op() == {"all_reduce": 2 * SMALL.layers} and first.nbytes() == 2 * SMALL.layers * PROMPT * one
        assert later.by_op() == {"all_reduce": 2 * SMALL.layers * (NTOKENS - 1)}
        assert {call.given for call in later.calls} == {one}
        kept = PROMPT + NTOKENS - 1
        assert cached == 2 * SMALL.layers * BATCH * kept * SMALL.kv_heads * SMALL.head_width * 8 // 4


def too_long():
    decoder = Decoder(SMALL, SMALL.init(), dist.group.WORLD)
    decoder.step(prompt())
    with pytest.raises(ValueError, match="12 positions, 5 tokens are there and 8 come"):
        decoder.step(torch.zeros(BATCH, 8, dtype=torch.long))
    return True


def test_there_are_no_tokens_beyond_the_last_position(ranks):
    assert all(ranks.run(too_long))


def test_the_price_of_a_token():
    big = MODELS["Llama-3-70B"]
    one = decoding(big)
    assert one.sums.times == 2 * big.layers and one.sums.nbytes == decode_bytes(big) == 2 * big.hidden
    assert one.latency > 0.97 and one.waits > 0 and one.sums.level == "node"
    assert one.cache == kv_cache(big, 1, big.context, 2, 8).nbytes
    assert one.weights == 2 * (big.nparams - big.vocab * big.hidden) // 8
    bare = 2 * one.sums.priced - decoding(big, batch=2).sums.priced  # what stays when bytes go
    assert one.latency == pytest.approx(bare / one.sums.priced, abs=1e-4)
    hbm = ACCELERATORS["H100"].hbm.bandwidth.value
    assert one.reads == (one.weights + one.cache) / hbm
    many = decoding(big, batch=64)
    assert many.sums.nbytes == 64 * one.sums.nbytes and many.weights == one.weights and many.cache == 64 * one.cache
    assert many.sums.priced < 2 * one.sums.priced, "64 times the bytes for less than twice the time"
    assert str(one).startswith("Llama-3-70B, 1 requests of 8,192 tokens on 8 H100: 160 sums of 16,384 B")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"tensor": 16}, "tensor ranks stay inside a node: .* has 8 GPUs in each, got 16"),
        ({"tensor": 3}, "tensor=3 ranks cannot share heads=64, kv_heads=8"),
        ({"machine": "DGX-9"}, "a machine is one of .*got 'DGX-9'"),
        ({"batch": 0}, "batch"),
        ({"model": "Mixtral-8x7B"}, "decoding is priced for dense models .*, got Mixtral-8x7B"),
    ],
)
def test_what_cannot_be_served_is_refused(how, said):
    with pytest.raises((ValueError, FormError), match=said):
        decoding(**({"model": "Llama-3-70B"} | how))


def test_a_tied_head_is_read_though_it_is_the_embedding():
    small = MODELS["GPT-2"]
    assert small.tied and decoding(small, tensor=1).weights == 2 * small.nparams


def test_one_gpu_sums_with_nobody():
    alone = decoding("Llama-2-7B", tensor=1)
    assert (alone.waits, alone.latency) == (0, 0) and "sums of 8,192 B take 0" in str(alone)


def test_a_machine_may_be_given_itself():
    assert decoding("Llama-3-70B", machine=MACHINES["HGX-H200"]).reads < decoding("Llama-3-70B").reads
