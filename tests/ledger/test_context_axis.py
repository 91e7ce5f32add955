"""Context ranks and teams in the ledger: bytes against the formulas that real ranks are held to, and what of them shows by hand."""

from dataclasses import replace
from fractions import Fraction

import pytest

from helpers.context import FORMS, ORDERS, layer_passes, slowest
from helpers.facts import LINKS
from helpers.ledger import SETUPS, entry
from helpers.ledger.context_axis import context_traffic, uneven
from helpers.ledger.flops import flops
from helpers.measure import predict_step
from helpers.memory import Sharding, ShardingError
from helpers.memory.closed_form import padded, step
from helpers.memory.closed_form.weights import RankWeights
from helpers.parallel.context.ours import predicted
from helpers.parallel.model import Transformer, shape_of
from helpers.parallel.reference import Training

SEVENTY = SETUPS["70B"]
THREE = ("ring", "heads", "gathered")
LONG = replace(SEVENTY, sequences=4, seq=131072)
IB = LINKS[SEVENTY.machine.network].achievable


def long(nodes: int, **how):
    """Four sequences of 131,072 tokens on 64 H100; so many nodes share each of them, as how says."""
    shape = Sharding(data=8 // nodes, context=nodes, tensor=8, sequence=True, zero=1, micro_batches=nodes // 2, **how)
    return entry(LONG, shape, checkpoint="full")


def of_axis(one, axis):
    return [t for t in one.traffic if t.axis == axis]


# Bytes ------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("nranks", [2, 4])
def test_a_step_moves_what_context_parallel_ranks_are_held_to(form, nranks):
    """The formula of the strategies, which tests hold against four real ranks, of a small transformer in fp32."""
    model = Transformer(layers=3, seq=16, kv_heads=4)
    training = Training(model, batch=2, steps=1)
    want = predicted(training, nranks, form=form)
    setup = replace(SEVENTY, model=shape_of(model), seq=16, sequences=2)
    sharding = Sharding(context=nranks, form=form)
    lines = [*context_traffic(setup, sharding, 2, "fp32")]
    names = {"send_recv": "send"}
    keys = {op: n for op, n in want.sent.items() if op != "all_reduce"}
    wide = Fraction(training.itemsize, 4)
    for op, sent in keys.items():
        those = [t for t in lines if names.get(t.collective, t.collective) == op]
        assert sum(t.sent for t in those) * wide == sent and sum(t.times for t in those) == want.calls[op]
    assert sum(t.sent for t in lines) * wide == sum(keys.values())


@pytest.mark.parametrize("nodes", [2, 8])
@pytest.mark.parametrize("form", ["ring", "gathered"])
def test_of_the_running_example_a_layer_moves_what_the_chapter_s_formula_says(nodes, form):
    """Blocks are computed again: keys travel three times, gradients once."""
    one, model = long(nodes, form=form), SEVENTY.model
    keys = 2 * 2 * model.kv_hidden // 8 * LONG.seq
    layers = model.layers * nodes // 2
    assert sum(t.sent for t in of_axis(one, "context")) == layers * layer_passes(form, keys, 0, nodes).total(again=True)
    assert {(t.level, t.nranks) for t in of_axis(one, "context")} == {("network", nodes)}
    assert sum(t.forward for t in of_axis(one, "context")) == layers * (nodes - 1 if form == "ring" else 1)


def test_other_axes_move_and_hold_a_context_rank_s_tokens():
    two, eight = long(2), long(8)
    for one, nodes in ((two, 2), (eight, 8)):
        sums = [t for t in of_axis(one, "tensor") if t.what == "activations"]
        assert {t.nbytes for t in sums} == {LONG.seq // nodes * SEVENTY.model.hidden * 2}
        shards = of_axis(one, "data")
        assert {(t.nranks, t.level) for t in shards} == {(8, "network")}, "context ranks are data ranks for states"
        alone = Sharding(data=8, tensor=8, sequence=True, zero=1, micro_batches=nodes // 2)
        assert one.nbytes == step(SEVENTY.model, 1, LONG.seq // nodes, checkpoint="full", sharding=alone).peak
    assert two.clock.mfu == pytest.approx(eight.clock.mfu, rel=0.05), "arithmetic is shared, whoever has which tokens"


def test_gathered_keys_of_others_stand_there_until_a_block_s_backward():
    """Of all 32 layers, or of one that is computed again: what the ring's ranks never hold. And a result that is kept twice.

    Attention alone is computed again in its own backward, later than the moments here.
    """
    job = replace(SETUPS["7B"], sequences=2)
    shapes = [Sharding(data=2, context=4, form=form) for form in THREE]
    twice, others = 1024 * 4096 * 2, 2 * 4096 * 2 * (4096 - 1024)
    for checkpoint, layers in (("none", 32), ("selective", 0), ("full", 1)):
        ring, heads, gathered = (entry(job, shape, checkpoint=checkpoint).step for shape in shapes)
        for one, each in ((heads, twice), (gathered, twice + others)):
            more = {name: one.moments[name].total - ring.moments[name].total for name in ring.moments}
            assert max(more.values()) == layers * each and more["optimizer"] == 0
            assert more["first block"] == min(layers, 1) * each, "the first block's backward has its own alone"
            assert more["forward"] == (32 * each if checkpoint == "none" else 0)


@pytest.mark.parametrize("form", FORMS)
def test_a_context_rank_holds_what_predict_step_says(form):
    """All blocks' activations are kept. Within 1 %: gathered keys have their gradients in the last block's attention, besides."""
    shape = Sharding(context=8, zero=3, form=form)
    line = entry(replace(SETUPS["7B"], sequences=1, seq=32768), shape)
    done = predict_step("Llama-2-7B", seq=32768, sharding=shape)
    assert line.nbytes == pytest.approx(done.peak.nbytes, rel=0.01 if form == "gathered" else 1e-3)


# Seconds ----------------------------------------------------------------------------------------------------------------
def test_a_ring_shows_the_way_home_of_its_gradients_and_a_gather_all_of_it():
    ring, gathered = long(8), long(8, form="gathered")
    block = 2 * 2 * SEVENTY.model.kv_hidden // 8 * LONG.seq // 8
    home = 4 * SEVENTY.model.layers * (IB.call + IB.seconds(block))
    assert ring.clock.exposed["context", "network"] == pytest.approx(home)
    whole = sum(t.seconds for t in of_axis(gathered, "context"))
    assert gathered.clock.exposed["context", "network"] == gathered.clock.communication["context", "network"] == whole
    more = ring.clock.communication["context", "network"] - sum(t.seconds for t in of_axis(ring, "context"))
    assert more == pytest.approx(0)
    assert gathered.clock.seconds - ring.clock.seconds == pytest.approx(whole - home, rel=0.01)


def test_a_short_sequence_s_ring_shows_what_its_scores_do_not_hide():
    """Eight sequences of 16 tokens on eight ranks: nothing to hide behind, so each hop shows, there twice and once back with two."""
    setup = replace(SETUPS["7B"], seq=16)
    shape = Sharding(context=8)
    one = entry(setup, shape, efficiency=1e6)
    shows, lasts = one.clock.exposed["context", "node"], one.clock.communication["context", "node"]
    assert shows == pytest.approx(lasts, rel=1e-6)
    assert sum(t.times for t in of_axis(one, "context")) == 32 * 3 * 7
    assert one.clock.share_hidden < 1


@pytest.mark.parametrize("order", ORDERS)
def test_of_an_uneven_placement_the_slowest_rank_is_waited_for(order):
    one, zigzag = (long(8, order=each) for each in (order, "zigzag"))
    scores = flops(SEVENTY.model, LONG.tokens, LONG.seq).scores * 4 / 64 / (SEVENTY.peak * one.efficiency)
    more = slowest(order, LONG.seq, 8) / slowest("zigzag", LONG.seq, 8) - 1
    assert one.clock.compute - zigzag.clock.compute == pytest.approx(more * scores)
    assert uneven(LONG.seq, Sharding(context=8, form="heads", order=order)) == 1
    assert uneven(LONG.seq, Sharding(order=order)) == 1


# Teams ------------------------------------------------------------------------------------------------------------------
def test_a_team_gathers_in_its_node_and_adds_shards_up_across():
    """N / 8 of the gradients, in fp32, among eight nodes; gathers and reductions stay on NVLink."""
    model = SETUPS["7B"].model
    one = entry(replace(SEVENTY, model=model), Sharding(data=64, zero=3, team=8), precision="fsdp2", checkpoint="full")
    alone = entry(replace(SETUPS["7B"], seq=8192), Sharding(data=8, zero=3), precision="fsdp2", checkpoint="full")
    n = sum(padded(unit, 8) for unit in RankWeights(model, Sharding(data=64, zero=3, team=8)).units)
    assert sum(t.sent for t in of_axis(one, "replica")) == Fraction(2 * 7, 8) * 4 * n / 8
    assert {(t.nranks, t.level, t.place.together) for t in of_axis(one, "replica")} == {(8, "network", 1)}
    assert one.sent_over("node") == sum(t.sent for t in of_axis(one, "data")) == alone.sent
    assert one.nbytes == alone.nbytes, "as eight GPUs hold it"
    clock = one.clock
    assert clock.communication["replica", "network"] == pytest.approx(sum(t.seconds for t in of_axis(one, "replica")))
    last = min(t.seconds / t.times for t in of_axis(one, "replica"))
    assert last <= clock.exposed["replica", "network"] <= clock.communication["replica", "network"]
    assert clock.seconds > alone.clock.seconds


def test_teams_of_two_nodes_share_the_network_with_what_they_add_up():
    """Their gathers cross it too, so the all_reduce stands in one line with them."""
    model = SETUPS["7B"].model
    few = replace(SEVENTY, model=model, seq=256)
    found = {n: entry(few, Sharding(data=64, zero=3, team=n), precision="fsdp2").clock for n in (8, 16)}
    assert found[16].exposed["data", "network"] > found[8].exposed["data", "node"]
    each = found[16].exposed["replica", "network"] / found[16].communication["replica", "network"]
    assert each > 0.9, "nothing is left to hide it"


def test_the_calls_of_several_micro_batches_are_added_up_each_time():
    shape = Sharding(data=8, zero=3, team=4, micro_batches=4)
    one = entry(replace(SETUPS["7B"], sequences=32), shape, precision="fsdp2")
    adds = [t for t in of_axis(one, "replica") if t.what == "shards of gradients"]
    assert [(t.times, t.nranks, t.level) for t in adds] == [(4 * 32, 2, "node")]


# Refused ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: long(8, form="star"), "form is one of ring, gathered, heads, got 'star'"),
        (lambda: long(8, order="round"), "order is one of plain, zigzag, striped, got 'round'"),
        (lambda: long(4, form="heads"), "context=4 ranks of tensor=8 cannot share kv_heads=8"),
        (lambda: entry(replace(SETUPS["7B"], seq=8), Sharding(context=8)), "zigzag cuts a sequence into 16 chunks"),
        (lambda: entry("7B", Sharding(context=3)), "the 8 GPUs of .*, got 3"),
        (lambda: entry(replace(SETUPS["7B"], seq=4097), Sharding(context=8)), "context=8 ranks cannot share seq=4097"),
    ],
)
def test_what_cannot_be_is_refused(ask, said):
    with pytest.raises((ValueError, ShardingError), match=said):
        ask()
