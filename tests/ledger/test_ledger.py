"""The ledger: bytes against formulas, links against the layout of ranks, memory against the closed form, and what is refused."""

from dataclasses import replace
from fractions import Fraction

import pytest

from helpers.collectives import CATALOGUE, Nodes, price
from helpers.facts import LINKS, MACHINES, MODELS
from helpers.ledger import SETUPS, entry
from helpers.ledger.layers import layer_traffic
from helpers.ledger.places import place, strides
from helpers.ledger.states import state_traffic
from helpers.memory import Sharding, ShardingError
from helpers.memory.closed_form import padded, step
from helpers.memory.closed_form.weights import RankWeights
from helpers.nccl import predict

# Floor 3 may be asked in a test: what ranks count is what the ledger says
from helpers.parallel.table import STRATEGIES

SEVEN, SEVENTY = SETUPS["7B"], SETUPS["70B"]


def sent(one, **named):
    return sum(t.sent for t in one.traffic if all(getattr(t, name) == value for name, value in named.items()))


def test_data_parallel_sends_every_gradient_twice_but_a_share():
    one = entry("7B", Sharding(data=8), precision="bf16-fp32grads")
    assert sent(one) == Fraction(2 * 7, 8) * 4 * SEVEN.model.nparams
    assert {t.level for t in one.traffic} == {"node"}


@pytest.mark.parametrize(("zero", "gathers", "reductions"), [(1, 1, 1), (2, 1, 4), (3, 8, 4)])
def test_shards_are_gathered_and_reduced_as_often_as_their_stage_says(zero, gathers, reductions):
    shape = Sharding(data=2, pipeline=4, zero=zero, micro_batches=4)
    one = entry("7B", shape, precision="bf16-fp32grads")
    units = RankWeights(SEVEN.model, Sharding(data=2, pipeline=4, zero=zero, micro_batches=4, stage=3)).units
    blocks = sum(padded(unit, 2) for unit in units[:8])
    assert sent(one, what="weights") == Fraction(1, 2) * 2 * blocks * gathers
    assert sent(one, what="gradients") == Fraction(1, 2) * 4 * blocks * reductions


def test_fsdp_moves_three_shares_but_two_of_the_rest_which_it_keeps():
    one = entry("70B", Sharding(data=64, zero=3))
    weights = RankWeights(SEVENTY.model, Sharding(data=64, zero=3))
    blocks, rest = sum(weights.units[:-1]) * 2, weights.units[-1] * 2
    assert one.sent == (3 * blocks + 2 * rest) * 63 / 64
    assert one.sent_over("network") == one.sent


def test_tensor_parallel_moves_activations_four_times_a_layer_and_six_when_computed_again():
    n = SEVEN.seq * SEVEN.model.hidden * 2
    for checkpoint, times in (("none", 4), ("full", 6)):
        one = entry("7B", Sharding(tensor=8, micro_batches=8), checkpoint=checkpoint)
        calls = 8 * (times * 32 + 2)  # and once behind the embedding, once before the head
        assert sent(one, what="activations") == calls * Fraction(2 * 7, 8) * n
    whole = entry("7B", Sharding(tensor=8, micro_batches=8))
    tokens = entry("7B", Sharding(tensor=8, micro_batches=8, sequence=True))
    assert sent(whole, what="activations") == sent(tokens, what="activations")
    assert tokens.nbytes < whole.nbytes


def test_what_megatron_gathers_once_more_is_a_quarter_or_a_sixth():
    for checkpoint, share in (("none", 4), ("full", 6)):
        shape = Sharding(tensor=8, micro_batches=8, sequence=True)
        ours, megatrons = (entry("7B", shape, checkpoint=checkpoint, regather=one) for one in (False, True))
        more = sent(megatrons, what="inputs once more")
        blocks = sent(ours, what="activations") * (share * 32) / (share * 32 + 2)  # and the two at the ends
        assert more == blocks / share and megatrons.sent == ours.sent + more
        assert megatrons.nbytes == ours.nbytes and megatrons.clock.seconds > ours.clock.seconds
    with pytest.raises(ValueError, match="needs sequence=True"):
        entry("7B", Sharding(tensor=8), regather=True)


def test_a_step_of_our_own_ranks_has_the_calls_of_the_ledger():
    """The strategies' formulas, which real ranks are held to, and the ledger's: calls a block and a step of each way."""
    ours = STRATEGIES["tensor, transformer, pairs"]
    calls = ours.predicted(ours.training, 4, 0).calls["all_reduce"] / ours.training.steps
    one = entry("7B", Sharding(tensor=8))
    per_block = (sum(t.times for t in one.traffic if t.what == "activations") - 2) / SEVEN.model.layers
    assert per_block == calls / ours.training.model.layers == 4


def test_a_stage_in_the_middle_sends_both_ways():
    one = entry("7B", Sharding(pipeline=8, micro_batches=8))
    n = SEVEN.seq * SEVEN.model.hidden * 2
    assert one.sent == 2 * 8 * n
    assert one.bubble == pytest.approx(7 / 15)
    assert entry("7B", Sharding(data=8)).bubble == 0


def test_experts_reduce_among_fewer_and_send_tokens_there_and_back():
    one = entry("7B", Sharding(data=8, expert=4), model="Mixtral-8x7B")
    tokens = one.traffic[-1]
    assert (tokens.collective, tokens.nranks, tokens.times) == ("all_to_all", 4, 4 * 32)
    assert tokens.nbytes == 4096 * 4096 * 2 * 2
    spread = [t for t in one.traffic if t.what == "gradients of experts"]
    assert {t.nranks for t in spread} == {2}
    experts = 32 * 3 * 8 * 4096 * 14336 // 4
    assert sum(t.sent for t in spread) == experts * 2


def layers(setup, shape, precision="bf16", checkpoint="none"):
    """What one stage moves for its layers, by name, a sequence a micro-batch."""
    return {t.what: t for t in layer_traffic(setup, shape, 1, precision, checkpoint)}


@pytest.mark.parametrize("stage", range(4))
def test_a_stage_moves_what_stands_on_it(stage):
    """8 blocks of two pairs; the embedding first, head and loss last; a neighbour on each side, but for the ends."""
    found = layers(SEVEN, Sharding(tensor=2, pipeline=4, micro_batches=8, stage=stage))
    assert found["activations"].times == 8 * (2 * 2 * 8 + (stage in (0, 3)))
    assert ("activations to the next stage" in found, "their gradients" in found) == (stage < 3, stage > 0)
    assert ("the loss" in found) == (stage == 3)


def test_what_a_message_of_a_layer_carries():
    n, shape = SEVEN.seq * SEVEN.model.hidden * 2, Sharding(tensor=2, pipeline=4, micro_batches=8, stage=3)
    found = layers(SEVEN, shape)
    loss = found["the loss"]
    assert (loss.nbytes, loss.times, loss.nranks) == (4 * SEVEN.seq, 3 * 8, 2), "three numbers a token, fp32"
    assert found["activations"].nbytes == found["their gradients"].nbytes == n
    own_tokens = layers(SEVEN, replace(shape, sequence=True))
    assert own_tokens["their gradients"].nbytes == n / 2
    for precision, width in (("fp32", 4), ("autocast", 4), ("bf16-true", 2), ("fsdp2", 2)):
        assert layers(SEVEN, shape, precision)["activations"].nbytes == n / 2 * width
    mixtral = replace(SEVEN, model=MODELS["Mixtral-8x7B"])
    again = layers(mixtral, Sharding(data=8, expert=4), checkpoint="full")["tokens to experts and back"]
    assert again.times == 6 * 32, "there and back in forward, once more, and in backward"


def test_weights_and_gradients_travel_in_the_types_of_the_precision():
    unit = RankWeights(SEVEN.model, Sharding(data=7, zero=1)).units[0]
    assert unit % 7
    wide = {"fp32": (4, 4), "bf16": (2, 2), "bf16-fp32grads": (2, 4), "bf16-true": (2, 2)}
    for precision, sizes in (wide | {"autocast": (4, 4), "fsdp2": (2, 4)}).items():
        weights, gradients, *_ = state_traffic(SEVEN, Sharding(data=7, zero=1), precision)
        assert (weights.nbytes, gradients.nbytes) == tuple(padded(unit, 7) * size for size in sizes), precision


def test_the_first_bucket_is_the_heads_gradient():
    """Backward begins there, and it is larger than the first bucket."""
    head = 32000 * 4096 * 2
    assert head in {t.nbytes for t in state_traffic(SEVEN, Sharding(data=8), "bf16")}


def test_experts_that_nobody_else_holds_are_not_reduced():
    one = entry("7B", Sharding(data=8, expert=8), model="Mixtral-8x7B")
    assert "gradients of experts" not in {t.what for t in one.traffic}


def test_axes_lie_as_megatron_lays_them():
    assert strides(Sharding(tensor=2, data=8, expert=4, pipeline=2)) == {
        "tensor": (2, 1),
        "context": (1, 2),
        "shards": (1, 2),
        "replicas": (8, 2),
        "expert": (4, 2),
        "replicas of experts": (2, 8),
        "pipeline": (2, 16),
    }
    two = place(SEVENTY.machine, 16, 1).platform
    assert (two.nodes, two.gpus, two.ports, two.port) == (
        2,
        8,
        8,
        SEVENTY.machine.across.value / 1e9,
    ) and two.port == 50


def test_a_send_is_its_latency_and_its_bytes_on_the_link_that_it_crosses():
    inside = entry("7B", Sharding(pipeline=8, micro_batches=8)).traffic[0]
    across = entry("70B", Sharding(tensor=8, pipeline=8, micro_batches=64)).traffic[-1]
    assert (inside.level, across.level) == ("node", "network")
    for one, link in ((inside, LINKS["nvlink-4"]), (across, LINKS[SEVENTY.machine.network].achievable)):
        assert one.priced == pytest.approx(one.times * (link.call + link.seconds(one.nbytes)))


def test_several_ranks_in_each_node_are_priced_along_rails_and_one_in_each_as_a_ring():
    rails, ring = entry("70B", Sharding(data=64)).traffic[0], entry("70B", Sharding(tensor=8, data=8)).traffic[0]
    along = price(CATALOGUE["all_reduce", "hierarchical"](64, 8), rails.nbytes, rails.place.network).seconds
    round_ = price(CATALOGUE["all_reduce", "ring"](64), rails.nbytes, rails.place.network).seconds
    assert rails.priced == pytest.approx(rails.times * along) and along < round_
    network = Nodes(1, LINKS["nvlink-4"], LINKS[SEVENTY.machine.network].achievable)
    alone = price(CATALOGUE["all_reduce", "ring"](8), ring.nbytes, network).seconds
    assert ring.priced == pytest.approx(ring.times * alone)


def test_groups_cross_what_lies_between_their_ranks():
    shape = Sharding(tensor=8, data=4, pipeline=2)
    where = {axis: place(SEVENTY.machine, *found) for axis, found in strides(shape).items()}
    assert (where["tensor"].level, where["tensor"].together) == ("node", 8)
    assert (where["replicas"].level, where["replicas"].together) == ("network", 1)
    assert where["pipeline"].level == "network"
    shape = Sharding(tensor=2, data=32)
    found = place(SEVENTY.machine, *strides(shape)["replicas"])
    assert (found.level, found.together, found.platform.nodes, found.platform.ports) == ("network", 4, 8, 4)


def test_seconds_are_those_of_the_two_models():
    one = entry("7B", Sharding(data=8, zero=3)).traffic[0]
    ring = price(CATALOGUE["all_gather", "ring"](8), one.nbytes, LINKS["nvlink-4"]).seconds
    assert one.priced == pytest.approx(one.times * ring)
    assert one.predicted == pytest.approx(one.times * predict("all_gather", one.nbytes, MACHINES["HGX-H200"]).seconds)
    whole = entry("70B", Sharding(data=64)).traffic[0]
    assert whole.predicted == pytest.approx(whole.times * predict("all_reduce", whole.nbytes, SEVENTY.machine).seconds)


def test_what_nccl_does_not_choose_is_priced_and_says_so():
    one = entry("7B", Sharding(pipeline=8, micro_batches=8))
    assert all(t.predicted is None and t.note for t in one.traffic)
    assert one.predicted == one.priced > 0


def test_memory_is_the_fullest_stage_s():
    one = entry("7B", Sharding(pipeline=8, micro_batches=8))
    each = [step("Llama-2-7B", 1, 4096, sharding=Sharding(pipeline=8, micro_batches=8, stage=i)).peak for i in range(8)]
    assert one.nbytes == max(each)
    assert one.gib * 2**30 == one.nbytes
    assert not entry("70B", Sharding(data=64)).fits
    over = entry("7B", Sharding(data=8), model="Llama-2-13B", checkpoint="full")
    assert over.setup.capacity < over.nbytes < 2 * over.setup.capacity and not over.fits
    assert entry("7B", Sharding(data=8), optimizer="sgd").nbytes < entry("7B", Sharding(data=8)).nbytes
    last = [step("Llama-2-7B", 8, 4096, sharding=Sharding(pipeline=8, stage=i)).peak for i in (0, 7)]
    assert entry("7B", Sharding(pipeline=8)).nbytes == last[1] > last[0], "logits, and one micro-batch at a time"
    shards = Sharding(data=8, zero=3)
    assert entry("7B", shards, precision="fsdp2").nbytes == step("Llama-2-7B", 1, 4096, "fsdp2", sharding=shards).peak
    assert entry("70B", Sharding(data=64, zero=3), checkpoint="full").fits


def test_what_cannot_be_is_refused_with_what_would_work():
    with pytest.raises(ValueError, match=r"a setup is one of 7B, 70B, got '8B'"):
        entry("8B", Sharding(data=8))
    with pytest.raises(ValueError, match=r"the 8 GPUs of .*, got 4"):
        entry("7B", Sharding(data=4))
    with pytest.raises(ValueError, match=r"micro_batches that work: 1, 2, 4$"):
        entry("7B", Sharding(data=2, tensor=4, micro_batches=3))
    with pytest.raises(ShardingError, match="kv_heads=8"):
        entry("70B", Sharding(data=4, tensor=16, micro_batches=16))
    with pytest.raises(ValueError, match="precision is one of"):
        entry("7B", Sharding(data=8), precision="fp16")


def test_an_argument_of_another_type_is_named():
    with pytest.raises(ValueError, match=r"a setup is one of 7B, 70B, got 7$"):
        entry(7, Sharding(data=8))
    with pytest.raises(ValueError, match=r"as Sharding\(data=8\), got 'data=8'"):
        entry("7B", "data=8")
    with pytest.raises(ValueError, match="a level is one of node, network, got 'rack'"):
        entry("7B", Sharding(data=8)).sent_over("rack")


def test_the_two_jobs_have_a_sequence_a_gpu_as_long_as_the_models_context():
    for setup, tokens in ((SEVEN, 8 * 4096), (SEVENTY, 64 * 8192)):
        assert setup.sequences == setup.machine.nranks and setup.tokens == tokens
    staged = entry("7B", Sharding(pipeline=8, micro_batches=8, stage=5))
    assert staged.name == "8 stages, 8 micro-batches"


def test_it_prints_a_line_a_kind_and_a_sum():
    text = str(entry("7B", Sharding(data=8, zero=3), precision="fsdp2", checkpoint="full"))
    assert text.startswith("Llama-2-7B on 8 H200, 8 sequences of 4,096 tokens a step: 8 data, ZeRO-3, fsdp2")
    assert len(text.splitlines()) == 2 + 4 + 1
    assert text.endswith("fits")
