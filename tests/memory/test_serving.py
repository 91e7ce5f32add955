"""The KV cache, how it is laid out, who waits for it; and offload against recomputation."""

from __future__ import annotations

import dataclasses
import random

import pytest

from helpers.facts import MODELS, lookup
from helpers.memory import offload
from helpers.memory.closed_form import FormError
from helpers.memory.kv_cache import Request, fits, inference, kv_cache, paged, per_token, reserved, serve
from helpers.units import Bandwidth, UnitError

KIB, GIB = 2**10, 2**30
LINK = lookup("pcie-5.gpu").quantity


@pytest.mark.parametrize(
    ("model", "kib", "at_8k", "at_128k"),
    [
        ("Llama-2-7B", 512, 4.0, 64),
        ("Llama-3-8B", 128, 1.0, 16),
        ("Llama-3-70B", 320, 2.5, 40),
        ("DeepSeek-V3", 68.625, 0.536, 8.578),
    ],
)
def test_the_cache_of_a_token_and_of_a_long_context(model, kib, at_8k, at_128k):
    assert per_token(model) == kib * KIB
    assert kv_cache(model, 1, 8192).nbytes / GIB == pytest.approx(at_8k, abs=5e-4)
    assert kv_cache(model, 1, 131072).nbytes / GIB == pytest.approx(at_128k, abs=5e-4)


def test_without_grouped_heads_it_would_be_eight_times_as_much():
    model = MODELS["Llama-3-70B"]
    full = dataclasses.replace(model, kv_heads=model.heads)
    assert kv_cache(full, 1, 131072).nbytes == 320 * GIB == 8 * kv_cache(model, 1, 131072).nbytes


def test_a_window_keeps_no_more_than_its_width():
    whole = kv_cache("Mistral-7B", 1, 4096).nbytes
    assert kv_cache("Mistral-7B", 1, 32768).nbytes == whole == 4096 * per_token("Mistral-7B")
    assert kv_cache("Mistral-7B", 3, 100).nbytes == 300 * per_token("Mistral-7B")
    assert kv_cache("Mistral-7B", 1, 32768).formula == "2 L b w k d 2"


def test_ranks_share_heads_but_not_a_latent_vector():
    assert kv_cache("Llama-3-8B", 1, 100, tensor=8).nbytes * 8 == kv_cache("Llama-3-8B", 1, 100).nbytes
    assert kv_cache("DeepSeek-V3", 1, 100, tensor=8).nbytes == kv_cache("DeepSeek-V3", 1, 100).nbytes


def test_a_mixture_is_served_with_all_its_experts():
    model = MODELS["Mixtral-8x7B"]
    assert inference(model, 1, 8)["weights"].nbytes == 2 * model.nparams > 2 * 3 * model.active_nparams


def test_paging_wastes_less_than_a_block_a_request():
    rng = random.Random(7)
    for _ in range(300):
        lengths, block = [rng.randint(1, 900) for _ in range(rng.randint(1, 20))], rng.choice((1, 8, 16, 32))
        made = paged("Llama-2-7B", lengths, block)
        assert made.tokens == sum(lengths) <= made.slots < sum(lengths) + block * len(lengths)
        assert made.nbytes == made.slots * 512 * KIB
        assert made.nbytes <= reserved("Llama-2-7B", lengths, 1024).nbytes


def test_a_shared_prefix_stands_once_in_full_blocks():
    alone, shared = paged("Llama-2-7B", [100] * 4, 16), paged("Llama-2-7B", [100] * 4, 16, prefix=50)
    assert (alone.slots, shared.slots) == (4 * 112, 48 + 4 * 64)
    assert shared.tokens == 48 + 4 * 52
    assert paged("Llama-2-7B", [100] * 4, 16, prefix=15) == alone  # no full block


def test_how_many_fit():
    n = fits("Llama-2-7B", 80 * GIB, 4096)
    weights = 2 * MODELS["Llama-2-7B"].nparams
    assert weights + n * 2 * GIB <= 72 * GIB < weights + (n + 1) * 2 * GIB
    assert fits("Llama-2-70B", 80 * GIB, 4096) == 0
    assert 3 * n < fits("Llama-3-8B", 80 * GIB, 4096) < 4 * n  # a quarter of the heads beside heavier weights


def test_continuous_batching_keeps_places_filled():
    queue = [Request(50, answer) for answer in (10, 500, 20, 30, 400, 10, 10, 10)]
    batch, flow = serve(queue, 1200, continuous=False), serve(queue, 1200)
    answers = sum(request.answer for request in queue)
    assert sum(batch.running) == sum(flow.running) == answers
    assert flow.steps < batch.steps
    assert flow.tokens_a_step == answers / flow.steps > batch.tokens_a_step
    assert max(flow.held) <= 1200


def test_the_cache_holds_the_prompt_and_every_token_answered_so_far():
    made = serve([Request(3, 2), Request(1, 1)], 20)
    assert (made.steps, made.running, made.held) == (2, (2, 1), (4 + 2, 5))


def test_nobody_is_lost_and_room_is_never_overrun():
    rng = random.Random(11)
    for _ in range(200):
        queue = [Request(rng.randint(1, 60), rng.randint(1, 60)) for _ in range(rng.randint(1, 12))]
        for continuous in (True, False):
            made = serve(queue, 130, continuous)
            assert sum(made.running) == sum(request.answer for request in queue)
            assert max(made.held) <= 130 and min(made.running) >= 1


def test_what_crosses_the_link_is_counted_there_and_back():
    kept = offload.move_activations("Llama-2-7B", LINK)
    assert kept.moved == 2 * kept.freed and kept.seconds == kept.moved / LINK.value
    assert kept == offload.move_activations("Llama-2-7B", LINK, 1, MODELS["Llama-2-7B"].context)
    for where, each in (("cpu update", 4), ("gpu update", 24)):
        made = offload.move_optimizer("Llama-2-7B", LINK, where)
        assert made.moved == each * MODELS["Llama-2-7B"].nparams == pytest.approx(made.seconds * LINK.value)
        assert made.freed == 12 * MODELS["Llama-2-7B"].nparams


def test_recomputing_costs_a_third_of_the_step():
    """Forward once more, beside forward and twice that backward."""
    again = offload.recompute("Llama-2-7B", 1e15)
    assert again.seconds * 3 == pytest.approx(offload.step_seconds("Llama-2-7B", 1e15))
    weights = 32 * (4 * 4096 * 4096 + 3 * 4096 * 11008)
    assert offload.forward_flops("Llama-2-7B", 2, 10) == 2 * weights * 20 + 2 * 2 * 10 * 10 * 32 * 4096
    assert "frees" in str(again) and "at least" in str(again)


def test_of_a_mixture_only_the_visited_experts_are_recomputed():
    model = MODELS["Mixtral-8x7B"]
    one = 4096 * (2 * 4096 + 2 * 1024) + 8 * 4096 + 2 * 3 * 4096 * model.ffn
    assert offload.forward_flops(model, 1, 1) == 2 * 32 * one + 2 * 32 * 4096


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: paged("GPT-2", []), FormError, "at least one request"),
        (lambda: paged("GPT-2", [0]), FormError, "length must be a whole number"),
        (lambda: paged("GPT-2", [5], prefix=6), FormError, "longer than the shortest request, 5"),
        (lambda: paged("GPT-2", [5], block=0), FormError, "block must be"),
        (lambda: reserved("GPT-2", [9], 8), FormError, "room for 8 tokens, one has 9"),
        (lambda: serve([Request(5, 6)], 10), FormError, "room for 10 tokens never holds"),
        (lambda: fits("GPT-2", GIB, 8, spare=1.0), FormError, "spare is a part"),
        (lambda: kv_cache("GPT-2", 1, 0), FormError, "seq must be"),
        (lambda: offload.recompute("GPT-2", 0), FormError, "positive number of FLOP/s"),
        (lambda: offload.recompute("DeepSeek-V3", 1e15), FormError, "latent attention"),
        (lambda: offload.forward_flops("DeepSeek-V3", 1, 8), FormError, "latent attention"),
        (lambda: offload.move_optimizer("GPT-2", LINK, "tpu"), FormError, "where must be one of cpu update"),
        (lambda: offload.move_activations("GPT-2", Bandwidth(1e9, "both ways")), UnitError, "one way"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, words):
    with pytest.raises(error, match=words):
        call()
