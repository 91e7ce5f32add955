"""Who has which tokens, who computes what, what moves and what hides it: closed forms against counting, and what papers say."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain
from math import ceil

import pytest
from lanes import some

from helpers.collectives import PRIMITIVES
from helpers.context import (
    FORMS,
    ORDERS,
    Ring,
    chunk_pairs,
    chunks,
    layer_passes,
    positions,
    seen,
    slowest,
    source,
    threshold,
    work,
    work_share,
)
from helpers.facts import ACCELERATORS, LINKS, MACHINES, MODELS
from helpers.ledger import flops
from helpers.ledger.context_axis import layer_times
from helpers.ledger.places import Place

SIZES = [(16, 1), (16, 2), (16, 4), (48, 3), (64, 8), (40, 5)]
BIG, H100 = MODELS["Llama-3-70B"], ACCELERATORS["H100"].flops["bf16"].quantity
IB = MACHINES["8x8-IB"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("seq", "nranks"), SIZES)
def test_every_token_has_one_rank_and_every_score_is_computed_once(order, seq, nranks):
    everybodys = [positions(order, seq, nranks, rank) for rank in range(nranks)]
    assert sorted(chain(*everybodys)) == list(range(seq)) and {len(one) for one in everybodys} == {seq // nranks}
    met = [
        (q, k)
        for rank in range(nranks)
        for step in range(nranks)
        for queries, keys in chunk_pairs(order, seq, nranks, rank, step)
        for q in queries
        for k in keys
        if k <= q
    ]
    assert sorted(met) == [(q, k) for q in range(seq) for k in range(q + 1)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("seq", "nranks"), SIZES)
def test_work_is_counted_as_the_closed_forms_have_it(order, seq, nranks):
    every, counted = Fraction(seq * (seq + 1), 2), work(order, seq, nranks)
    for rank in range(nranks):
        brute = [
            sum(k <= q for q in positions(order, seq, nranks, rank) for k in positions(order, seq, nranks, there))
            for there in (source(rank, step, nranks) for step in range(nranks))
        ]
        assert counted[rank] == brute
        assert work_share(order, seq, nranks, rank) * every == sum(brute)
    assert slowest(order, seq, nranks) == max(map(sum, counted)) == sum(map(max, zip(*counted, strict=True)))


def test_zigzag_is_even_at_every_step_and_plain_is_not():
    assert all(len(set(step)) == 1 for step in zip(*work("zigzag", 64, 8), strict=True))
    assert work_share("zigzag", 64, 8, 0) == work_share("zigzag", 64, 8, 7) == Fraction(1, 8)
    assert work("plain", 64, 8)[0][1:] == [0] * 7, "the first rank is done after its own tokens"
    assert Fraction(slowest("plain", 64, 8), slowest("zigzag", 64, 8)) == Fraction(7 * 64 + 36, 4 * 65)
    n, nranks = 1024, 8
    assert slowest("plain", n * nranks, nranks) / slowest("zigzag", n * nranks, nranks) == pytest.approx(
        2 - 1 / nranks, rel=1e-3
    )


@pytest.mark.parametrize("queries", [range(4), range(8, 12), range(3, 20, 4), range(1, 18, 4)])
@pytest.mark.parametrize("keys", [range(4), range(2, 6), range(8, 16), range(2, 19, 4), range(7, 24, 4)])
def test_scores_that_count_are_those_of_a_loop(queries, keys):
    if queries.step != keys.step:
        with pytest.raises(ValueError, match="one step"):
            seen(queries, keys)
    else:
        assert seen(queries, keys) == sum(k <= q for q in queries for k in keys)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (
            lambda: chunks("zigzag", 12, 4, 0),
            "zigzag cuts a sequence into 8 chunks for 4 context ranks, and seq 12 .*: take seq 8 or 16",
        ),
        (lambda: chunks("plain", 3, 4, 0), "take seq 4$"),
        (lambda: chunks("round", 16, 4, 0), "an order of tokens is one of plain, zigzag, striped, got 'round'"),
        (lambda: chunks("plain", 16, 4, 4), "a rank is one of 0 to 3, got 4"),
        (lambda: work("plain", 16.0, 4), "seq is a whole number from 1 on, got 16.0"),
        (lambda: work("plain", 16, 0), "context ranks is a whole number from 1 on, got 0"),
        (lambda: layer_passes("star", 8, 8, 2), "one of ring, gathered, heads, got 'star'"),
        (lambda: threshold(BIG, 1.0, 1.0, "round"), "got 'round'"),
        (lambda: Ring(BIG, 100, 8, LINKS["nvlink-4"], H100), "take seq 96 or 112"),
        (lambda: layer_passes("ring", 8, 8, 0), "one rank or more, got 0"),
        (lambda: threshold(BIG, 1.0, 0.0), "above 0, got 1.0 and 0.0"),
        (lambda: Ring(BIG, 128, 8, LINKS["nvlink-4"], H100, tensor=0), "above 0, got 0"),
        (lambda: Ring(BIG, 128, 8, LINKS["nvlink-4"], H100, tensor=3), "3 tensor ranks do not share kv_heads 8"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(ask, said):
    with pytest.raises(ValueError, match=said):
        ask()


@pytest.mark.parametrize("nranks", [1, 2, 4, 8])
def test_bytes_of_the_three_forms(nranks):
    """A ring's forward sends what an all_gather must, and all_to_all what its primitive says for each of four tensors."""
    keys, stream = 2 * 64 * nranks, 512 * nranks
    ring, gathered, heads = (layer_passes(form, keys, stream, nranks) for form in FORMS)
    assert (
        ring.forward[0].nbytes == gathered.forward[0].nbytes == PRIMITIVES["all_gather"].least(0, nranks, 0)[0] * keys
    )
    assert ring.total() * 2 == gathered.total() * 3 == ring.total(again=True) * Fraction(3, 2)
    least = PRIMITIVES["all_to_all"].least(0, nranks, 0)[0]
    assert heads.total() == 2 * least * Fraction(2 * stream + keys, nranks)


def test_times_are_of_the_same_bytes():
    where = Place(IB, 8, 1)
    for form in FORMS:
        there, back = layer_times(form, 2**26, 2**29, where)
        paper = layer_passes(form, 2**26, 2**29, 8)
        assert sum(one.sent for one in there) == sum(one.nbytes for one in paper.forward)
        assert sum(one.sent for one in back) == sum(one.nbytes for one in paper.backward)
        for lines, sent in ((there, paper.forward), (back, paper.backward)):
            assert sum(one.times for one in lines) == sum(one.calls for one in sent)
        assert all(one.priced > 0 for one in (*there, *back))


def test_from_the_threshold_on_a_step_hides_its_message():
    """Ring attention's authors: a block of F / B tokens, all heads with keys of their own, every score computed (arXiv 2310.01889)."""
    alike = MODELS["Llama-2-7B"]
    link = LINKS["nvlink-4"]
    wide = link.bandwidth.value
    assert threshold(alike, H100, wide, "plain") == ceil(H100 / wide)
    assert threshold(alike, H100, wide) == ceil(2 * H100 / wide)
    assert threshold(BIG, H100, wide) == ceil(2 * H100 / wide * BIG.kv_heads / BIG.heads)
    for order in ORDERS:
        n = threshold(BIG, H100, wide, order)
        for tokens, hides in ((n - n % 2 + 2, True), (n - n % 2 - 2, False)):
            ring = Ring(BIG, tokens * 4, 4, link, H100, order)
            bytes_alone = ring.block / wide
            assert (ring.computes()[1] >= bytes_alone) == hides
    assert (
        threshold(BIG, H100, wide)
        == threshold(BIG, H100, wide, itemsize=4) // 2 + threshold(BIG, H100, wide, itemsize=4) % 2
    )


def test_tensor_ranks_share_messages_and_arithmetic_and_backward_has_two_products_for_one():
    link, n = LINKS["infiniband-ndr"], 2**16
    whole, cut = (Ring(BIG, n * 4, 4, link, H100, tensor=tensor) for tensor in (1, 8))
    assert whole.block == 2 * BIG.kv_hidden * n * 2 == 8 * cut.block
    assert cut.computes() == pytest.approx([one / 8 for one in whole.computes()])
    each = 2 * 2 * BIG.heads * BIG.head_dim / H100  # two products of a score, each a product and a sum for each number
    assert sum(whole.computes()) == pytest.approx(each * slowest("zigzag", n * 4, 4))
    assert whole.computes(backward=True) == pytest.approx([2 * one for one in whole.computes()])
    step = flops(BIG, n * 4, n * 4, pairs="causal").scores / H100  # one definition: the ring's arithmetic is the step's
    assert 4 * sum(whole.computes()) * BIG.layers == pytest.approx(step, rel=1e-4)


@pytest.mark.parametrize("nranks", some([1, 2, 3, 8], [1, 8], "other rings"))
def test_a_ring_that_hides_all_shows_the_first_gradients_way_home_only(nranks):
    link = LINKS["infiniband-ndr"]
    ring = Ring(BIG, 2**20 * 3, nranks, link, H100, tensor=8)
    assert ring.exposed() == pytest.approx(0.0, abs=1e-12)
    assert ring.exposed(backward=True) == pytest.approx(ring.sends if nranks > 1 else 0.0)
    assert sum(ring.under_way()) == nranks - 1 and sum(ring.under_way(True)) + (nranks > 1) == 2 * (nranks - 1)
    short = Ring(BIG, 48 * nranks, nranks, link, H100, tensor=8)
    assert short.exposed() == pytest.approx(sum(short.sends - one for one in short.computes()[:-1]))
