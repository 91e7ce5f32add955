"""A step's seconds: each part by hand where it can be, sums and bounds where it cannot, and what a dial does."""

from dataclasses import replace

import pytest

from helpers.facts import MODELS
from helpers.ledger import SETUPS, entry
from helpers.ledger.data_axis import fully_sharded, of_data_axis, seconds_of
from helpers.ledger.flops import AGAIN, EARLY, PAIRS, flops
from helpers.ledger.layers import layer_traffic
from helpers.ledger.places import place, strides
from helpers.ledger.timing import HIDES, work
from helpers.memory import Sharding
from helpers.memory.closed_form import padded
from helpers.memory.closed_form.weights import RankWeights
from helpers.memory.offload import forward_flops
from helpers.pipeline import SCHEDULES, bubble_share

SEVEN, SEVENTY = SETUPS["7B"], SETUPS["70B"]
CALLS = ("all_gather", "reduce_scatter", "all_reduce")  # the last is of the loss alone
WAYS = {
    "data": Sharding(data=8),
    "ZeRO-1": Sharding(data=8, zero=1),
    "ZeRO-2": Sharding(data=4, tensor=2, sequence=True, zero=2, micro_batches=2),
    "FSDP": Sharding(data=8, zero=3),
    "tensor": Sharding(tensor=8),
    "stages": Sharding(pipeline=8, micro_batches=8),
    "all": Sharding(data=2, tensor=2, pipeline=2, zero=1, micro_batches=4),
    "sharded stages": Sharding(data=2, tensor=2, pipeline=2, zero=3, micro_batches=4),
}


def test_flops_of_a_token_are_six_for_each_parameter_and_twelve_s_for_each_layer_and_number():
    llama = MODELS["Llama-3-8B"]
    multiplied = llama.nparams - llama.vocab * llama.hidden - (2 * llama.layers + 1) * llama.hidden
    counted = flops(llama, 1)
    assert counted.model == 6 * multiplied + 12 * 8192 * llama.layers * llama.hidden
    assert counted.hardware == counted.model
    half = flops(llama, 1, pairs="causal")
    assert half.scores == counted.scores * (8192 + 1) / (2 * 8192) and half.blocks == counted.blocks


def test_what_is_computed_again_counts_for_the_hardware_alone():
    for name, (blocks, scores) in AGAIN.items():
        counted = flops(MODELS["Llama-3-8B"], 100, 512, name)
        early = counted.last * (name == EARLY)
        assert counted.hardware - counted.model == blocks * counted.blocks + scores * counted.scores - early
        assert counted.model == 3 * counted.forward


def test_the_blocks_forward_of_offload_is_the_same_with_the_causal_half():
    """Chapter too-big counts a block's second forward by itself, on a room below this one, and without the diagonal's half."""
    for name, seq in (("Llama-2-7B", 4096), ("Llama-3-70B", 8192)):
        model = MODELS[name]
        one = flops(model, 2 * seq, seq, pairs="causal")
        assert forward_flops(model, 2, seq) == pytest.approx(one.blocks + one.scores * seq / (seq + 1), rel=1e-4), name


def test_a_setup_counts_its_own_step():
    one = SEVENTY.flops("full", "causal")
    assert one == flops(SEVENTY.model, SEVENTY.tokens, SEVENTY.seq, "full", "causal") and one.pairs == "causal"
    assert one.forward + one.backward == one.model and one.attention == one.scores / one.forward
    assert one.of(1 / 64).pairs == "causal" and one.of(1 / 64).hardware == pytest.approx(one.hardware / 64)


def test_experts_that_nobody_visits_have_no_flops():
    mixtral = MODELS["Mixtral-8x7B"]
    counted = flops(replace(mixtral, window=None), 1, 1)
    norms = (2 * mixtral.layers + 1) * mixtral.hidden
    assert (counted.blocks + counted.head) / 2 == mixtral.active_nparams - mixtral.vocab * mixtral.hidden - norms


def test_latent_attention_is_counted_with_keys_and_values_unpacked():
    deepseek = MODELS["DeepSeek-V3"]
    counted, latent = flops(deepseek, 1, 4096), deepseek.latent
    norms = (2 * deepseek.layers + 1) * deepseek.hidden + deepseek.layers * (latent.query_rank + latent.rank)
    assert (counted.blocks + counted.head) / 2 == deepseek.active_nparams - deepseek.vocab * deepseek.hidden - norms
    assert counted.scores == 2 * 4096 * 61 * 128 * (192 + 128)  # keys of 128 + 64 numbers, values of 128


def test_what_flops_do_not_count_is_refused():
    with pytest.raises(ValueError, match="windows are not counted"):
        flops(replace(MODELS["Llama-3-8B"], window=4096), 1, 8192)
    with pytest.raises(ValueError, match="pairs one of " + ", ".join(PAIRS)):
        flops(MODELS["Llama-3-8B"], 1, pairs="half")


@pytest.mark.parametrize("name", WAYS)
def test_parts_add_up_and_nothing_is_hidden_twice(name):
    clock = entry("7B", WAYS[name]).clock
    assert sum(clock.parts.values()) == pytest.approx(clock.seconds)
    assert all(seconds >= -1e-12 for seconds in clock.parts.values())
    for key, whole in clock.communication.items():
        assert 0 <= clock.exposed[key] <= whole * (1 + 1e-9), key
    assert 0 <= clock.share_hidden <= 1
    assert clock.tokens_per_second == pytest.approx(SEVEN.tokens / 8 / clock.seconds)
    assert clock.mfu <= clock.hfu < 1


def test_arithmetic_is_flops_over_a_share_of_the_peak():
    one = entry("7B", Sharding(data=8, zero=3), precision="fsdp2", checkpoint="full")
    counted = flops(SEVEN.model, SEVEN.tokens, SEVEN.seq, "full")
    assert one.clock.compute == pytest.approx(counted.hardware / 8 / (SEVEN.peak * one.efficiency))
    assert one.clock.hfu / one.clock.mfu == pytest.approx(counted.hardware / counted.model)
    faster = entry("7B", Sharding(data=8, zero=3), precision="fsdp2", checkpoint="full", efficiency=2 * one.efficiency)
    assert faster.clock.compute == pytest.approx(one.clock.compute / 2)


def test_communication_is_that_of_the_ledger_s_lines():
    for name in ("data", "ZeRO-1", "FSDP", "tensor"):
        one = entry("7B", WAYS[name], precision="fsdp2" if name == "FSDP" else "bf16")
        assert sum(one.clock.communication.values()) == pytest.approx(one.predicted, rel=0.03), name
    for zero, precision in ((1, "bf16"), (2, "fsdp2"), (3, "fsdp2")):
        several = entry(replace(SEVEN, sequences=32), Sharding(data=8, zero=zero, micro_batches=4), precision=precision)
        assert sum(several.clock.communication.values()) == pytest.approx(several.predicted, rel=0.03), zero


def test_fsdp_gathers_the_rest_once_and_each_block_twice():
    shape = Sharding(data=8, zero=3)
    one = fully_sharded(SEVEN, shape, "fsdp2", 0.1, 0.2)
    gathers = [call for call in one.calls if call.collective == "all_gather"]
    assert len(gathers) == 2 * 32 + 1 and len(one.calls) == 2 * 32 + 1 + 33
    wide = {call.nbytes for call in one.calls if call.collective == "reduce_scatter"}
    assert wide == {2 * call.nbytes for call in gathers}, "bf16 there, fp32 back"


def test_tensor_ranks_wait_for_every_sum_unless_it_is_hidden():
    one = entry("7B", Sharding(tensor=8, sequence=True))
    hidden = entry("7B", Sharding(tensor=8, sequence=True), hides=["tensor"])
    assert one.clock.exposed["tensor", "node"] == pytest.approx(one.predicted)
    assert hidden.clock.exposed["tensor", "node"] == 0
    assert hidden.clock.seconds == pytest.approx(one.clock.seconds - one.predicted)


def test_sums_longer_than_all_products_show_what_is_longer():
    one = entry("7B", Sharding(tensor=8, sequence=True), hides=HIDES, efficiency=50.0)
    assert one.clock.exposed["tensor", "node"] == pytest.approx(one.predicted - one.clock.compute)


@pytest.mark.parametrize("regather", [False, True])
def test_forward_waits_for_as_many_sums_whatever_is_computed_again(regather):
    """Scores alone have no collective; a whole block has its own a second time, and an input gathered once more is backward's, too.

    Of a block's pairs two gathers and two scatters each way, but for the last scatter of one that is computed again and stops early; the
    embedding's scatter, the head's gather and the loss are forward's.
    """
    shape, n = Sharding(tensor=8, sequence=True), 32
    for checkpoint, again in (("none", 0), ("selective", 0), ("full", 1), (EARLY, 1)):
        counted = flops(SEVEN.model, SEVEN.tokens, SEVEN.seq, checkpoint)
        moved = [*layer_traffic(SEVEN, shape, 8, "bf16", checkpoint, regather)]
        gather, scatter, loss = (next(t.seconds / t.times for t in moved if t.collective == op) for op in CALLS)
        found = work(SEVEN, shape, moved, counted, 0.5)
        assert found.calls_forward == pytest.approx((2 * n + 1) * (gather + scatter) + 3 * loss)
        back = (2 * n * (1 + again) + 1) * (gather + scatter) + 2 * n * regather * gather
        back -= n * scatter * (checkpoint == EARLY)
        assert found.calls_backward == pytest.approx(back)
        assert found.calls_forward + found.calls_backward == pytest.approx(sum(t.seconds for t in moved))


def test_stages_wait_as_their_schedule_does():
    """1F1B's closed form, for stages of 70B that are as long as each other but for the head and the messages."""
    shape = Sharding(tensor=8, pipeline=8, sequence=True, micro_batches=16)
    one = entry(replace(SEVENTY, sequences=16), shape)
    share = one.clock.waits / one.clock.seconds
    assert share == pytest.approx(float(bubble_share(SCHEDULES["1f1b"](8, 16))), rel=0.12)
    assert one.binds == "compute" and one.clock.costs == "bubble"


def test_the_longest_stage_is_the_one_with_the_head():
    one, counted = entry("7B", WAYS["stages"]), flops(SEVEN.model, SEVEN.tokens, SEVEN.seq)
    mine = 3 * ((counted.blocks + counted.scores) / 8 + counted.head)
    assert one.clock.compute == pytest.approx(mine / (SEVEN.peak * one.efficiency))


def test_stages_that_compute_nothing_wait_for_messages():
    """Seven hops there and seven back at least, however fast the products."""
    one = entry("7B", WAYS["stages"], efficiency=1e9)
    hop = one.traffic[0].seconds / one.traffic[0].times
    assert one.clock.waits >= 2 * 7 * hop > 0.99 * one.clock.compute


def test_stages_wait_for_shards_of_others_too():
    """Of a step without its update, whose gathers show as long as it computes, 1F1B's share."""
    shape = Sharding(data=2, tensor=2, pipeline=2, zero=3, micro_batches=8)
    clock = entry(replace(SEVEN, seq=512, sequences=16), shape).clock
    assert clock.exposed["data", "node"] > 0.2 * clock.compute
    share = float(bubble_share(SCHEDULES["1f1b"](2, 8)))
    assert clock.waits / (clock.seconds - clock.update) == pytest.approx(share, rel=0.12)


def test_the_update_is_a_trip_over_the_states():
    whole, shard = entry("7B", Sharding(data=8)), entry("7B", Sharding(data=8, zero=1))
    assert whole.clock.update == pytest.approx(28 * SEVEN.model.nparams / 4.8e12)
    assert shard.clock.update == pytest.approx(whole.clock.update / 8, rel=1e-4)
    assert entry("7B", Sharding(data=8), optimizer="sgd").clock.update == pytest.approx(12 / 28 * whole.clock.update)


def test_what_binds():
    assert entry("7B", Sharding(data=8), precision="bf16-fp32grads").binds == "memory"
    assert entry("7B", Sharding(data=8, zero=3)).binds == "compute"
    few = replace(SEVENTY, sequences=64, seq=64)
    assert entry(few, Sharding(data=64, zero=3), precision="fsdp2").binds == "network"
    assert entry(replace(SEVEN, sequences=1), Sharding(pipeline=8)).binds == "bubble"
    short = replace(SEVEN, sequences=8, seq=8)
    assert entry(short, Sharding(tensor=8, micro_batches=8)).binds == "latency"
    assert (
        entry(replace(SEVEN, machine=few.machine, sequences=64, seq=2048), Sharding(data=8, tensor=8)).binds
        != "latency"
    )


def test_latency_binds_where_calls_without_bytes_last_half_as_long():
    found = {}
    for seq in (2**n for n in range(3, 9)):
        one = entry(replace(SEVEN, sequences=8, seq=seq), Sharding(tensor=8, micro_batches=8), efficiency=10.0)
        share = sum(t.latency for t in one.traffic) / sum(t.seconds for t in one.traffic)
        found[share] = one.binds
    assert all(said == ("latency" if share >= 0.5 else "node") for share, said in found.items()), found
    assert any(0.25 < share < 0.5 for share in found) and max(found) > 0.5


def test_what_cannot_be_timed_is_refused():
    with pytest.raises(ValueError, match="tensor or weights, got 'gradients'"):
        _ = entry("7B", Sharding(data=8), hides=["gradients"]).clock
    with pytest.raises(ValueError, match="a share of the peak, more than 0, got 0"):
        entry("7B", Sharding(data=8), efficiency=0)
    with pytest.raises(ValueError, match="known for H100 and A100 and chips like these, not for B200: give one"):
        entry(replace(SEVEN, machine=replace(SEVEN.machine, accelerator="B200")), Sharding(data=8))


def test_it_says_what_a_step_takes():
    said = str(entry("7B", Sharding(data=8, zero=3), precision="fsdp2").clock)
    assert said.startswith("a step takes ") and "hidden" in said and "tokens/s a GPU, MFU " in said


def test_fsdp2_in_a_pipeline_gathers_beside_passes_and_reduces_beside_nothing():
    """Of stage 0: before each of the eight forwards, and once before a backward. What the first products wait for shows in any case."""
    shape = Sharding(data=8, pipeline=8, zero=3, micro_batches=8)
    where = place(SEVENTY.machine, *strides(shape)["shards"])
    sizes = [padded(unit, 8) for unit in RankWeights(SEVENTY.model, shape).units]  # ten blocks, and the embedding
    gathers = [seconds_of("all_gather", where)(2 * n) for n in sizes]
    after = sum(seconds_of("reduce_scatter", where)(4 * n) for n in sizes)
    every, block, table = sum(gathers), gathers[0], gathers[-1]
    for forward, backward, shows in (
        (0.0, 0.0, 9 * every),
        (0.0, 3600.0, 8 * every + block),
        (3600.0, 0.0, 8 * (table + block) + every),
    ):
        ((key, found),) = of_data_axis(SEVENTY, shape, "fsdp2", forward, backward).items()
        assert key == ("data", where.level) and found == pytest.approx((9 * every + after, shows + after))


def test_teams_in_a_pipeline_add_up_their_shards_at_the_end():
    shape = Sharding(data=16, team=8, pipeline=4, zero=3, micro_batches=4)
    across = place(SEVENTY.machine, *strides(shape)["replicas"])
    sizes = [padded(unit, 8) for unit in RankWeights(SEVENTY.model, shape).units]
    seconds = sum(seconds_of("all_reduce", across)(4 * n // 8) for n in sizes)
    found = of_data_axis(SEVENTY, shape, "fsdp2", 1.0, 2.0)
    assert found["replica", across.level] == pytest.approx((seconds, seconds))
