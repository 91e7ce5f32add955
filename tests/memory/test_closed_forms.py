"""Closed forms: the published figures, the lists behind them, and one rank's share to the byte."""

from __future__ import annotations

import dataclasses
import random

import pytest

from helpers.facts import MODELS, PAPERS, SOURCES
from helpers.memory import closed_form as forms
from helpers.memory.closed_form.blocks import block
from helpers.memory.closed_form.kept import kept, operators, ratios, sizes, spell
from helpers.memory.closed_form.temporaries import optimizer_temporaries
from helpers.memory.closed_form.terms import SAYS
from helpers.memory.closed_form.weights import RankWeights, block_weights
from helpers.memory.sharding import Sharding, ShardingError

MIB, GIB = 2**20, 2**30
PLAIN = [model for model in MODELS.values() if not model.latent]


@pytest.mark.parametrize(("zero", "shown"), [(0, "120.0"), (1, "31.4"), (2, "16.6"), (3, "1.9")])
def test_the_row_of_the_zero_paper(zero, shown):
    made = forms.states(7_500_000_000, zero=zero, nranks=64 if zero else 1)
    assert f"{made.total / 1e9:.1f}" == shown


@pytest.mark.parametrize(
    ("precision", "optimizer", "each"),
    [
        ("fp32", "adam", 16),
        ("bf16", "adam", 16),
        ("bf16-fp32grads", "adamw", 18),
        ("fp32", "momentum", 12),
        ("fp32", "sgd", 8),
        ("bf16", "sgd", 8),
        ("autocast", "adam", 16),
        ("bf16-true", "adam", 8),
        ("bf16-true", "momentum", 6),
        ("fsdp2", "adam", 16),
    ],
)
def test_bytes_for_each_parameter(precision, optimizer, each):
    assert forms.per_parameter(precision, optimizer) == each


def test_the_article_says_sixteen_bytes_twice_and_so_do_we():
    assert forms.states(7_000_000_000, "fp32").total == 112_000_000_000
    assert forms.states(70_000_000_000, "bf16").total == 1_120_000_000_000


def test_padding_is_counted_unit_by_unit():
    rng = random.Random(5)
    for _ in range(300):
        units, nranks, zero = (
            [rng.randint(1, 999) for _ in range(rng.randint(1, 5))],
            rng.randint(2, 9),
            rng.randint(1, 3),
        )
        filled = sum(-(-unit // nranks) * nranks for unit in units)
        made = forms.states(units, "bf16", "adam", zero, nranks)
        split = {"parameter": zero > 2, "gradient": zero > 1, "optimizer": True}
        for term in made:
            width = {"parameter": 2, "gradient": 2, "optimizer": 4}[term.cls]
            assert term.nbytes == width * (filled // nranks if split[term.cls] else filled)


def test_a_rank_more_never_costs_memory_and_a_stage_neither():
    totals = [[forms.states(10**9, zero=zero, nranks=n).total for n in (2, 4, 8, 64)] for zero in (1, 2, 3)]
    assert all(row == sorted(row, reverse=True) for row in totals)
    assert all(column == sorted(column, reverse=True) for column in map(list, zip(*totals, strict=True)))


@pytest.mark.parametrize(
    ("model", "attention", "dropout", "tensor", "sequence", "wanted"),
    [
        ("GPT-2", "math", 0.1, 1, False, "34 + 5 a s/h"),
        ("GPT-2", "flash", 0.1, 1, False, "34"),
        ("GPT-2", "flash", 0.0, 1, False, "32"),
        ("GPT-2", "math", 0.1, 4, False, "10 + 24/t + 5 a s/h/t"),
        ("GPT-2", "math", 0.1, 4, True, "34/t + 5 a s/h/t"),
        ("Llama-2-7B", "flash", 0.0, 1, False, "12 + 4 g + 8 r"),
        ("Llama-3-8B", "flash", 0.1, 1, False, "14 + 4 g + 8 r"),
        ("Mixtral-8x7B", "flash", 0.0, 1, False, "12 + 4 g + 6 x + 8 x r"),
    ],
)
def test_the_formula_is_the_list_collected(model, attention, dropout, tensor, sequence, wanted):
    model = MODELS[model]
    assert spell(block(model, attention, dropout), ratios(model), "bf16", tensor, sequence) == wanted


@pytest.mark.parametrize(("heads", "hidden", "seq"), [(16, 2048, 2048), (32, 4096, 4096)])
def test_korthikantis_count(heads, hidden, seq):
    """34 + 5as/h = 114 and 194 bytes; the trace said 113.51 and 193.50 of four layers, whose first input is the batch."""
    shape = dataclasses.replace(
        MODELS["GPT-2"], layers=4, hidden=hidden, heads=heads, kv_heads=heads, head_dim=hidden // heads, ffn=4 * hidden
    )
    (blocks, *_) = forms.activations(shape, 1, seq, attention="math", dropout=0.1)
    small = sum(op.nbytes for op in blocks.operators if len(op.shape) == 2)
    assert (blocks.nbytes / 4 - small) / (seq * hidden) == 34 + 5 * heads * seq / hidden
    selective = forms.activations(shape, 1, seq, attention="math", dropout=0.1, checkpoint="selective")["blocks"]
    assert (selective.nbytes / 4 - small) / (seq * hidden) == 34
    full = forms.activations(shape, 1, seq, checkpoint="full")["block inputs"]
    assert full.nbytes == 4 * 2 * seq * hidden


@pytest.mark.parametrize("model", MODELS.values(), ids=str)
def test_the_list_of_weights_is_the_whole_model(model):
    assert sum(RankWeights(model).units) == model.nparams
    for dense in {False, bool(model.dense)}:
        listed = sum(weight.numel * weight.times for weight in block_weights(model, dense))
        assert listed == model.layer_nparams(dense=dense)


def test_stages_and_experts_hold_the_model_once():
    for name, tied in (("Llama-2-7B", 0), ("GPT-2", MODELS["GPT-2"].vocab * 768), ("Mixtral-8x7B", 0)):
        model = MODELS[name]
        stages = [RankWeights(model, Sharding(pipeline=4, stage=i)).units for i in range(4)]
        assert sum(map(sum, stages)) == model.nparams + tied  # a tied table stands on the first and on the last stage
    model = MODELS["Mixtral-8x7B"]
    experts = 32 * 8 * 3 * model.hidden * model.ffn
    assert sum(RankWeights(model, Sharding(data=8, expert=8)).units) == model.nparams - experts + experts // 8
    model = MODELS["Llama-2-7B"]
    norms = 65 * model.hidden
    assert sum(RankWeights(model, Sharding(tensor=8)).units) == (model.nparams - norms) // 8 + norms


def test_a_pipelines_stage_holds_the_micro_batches_in_flight():
    def blocks(stage, micro_batches):
        made = forms.step("Llama-2-7B", sharding=Sharding(pipeline=4, stage=stage, micro_batches=micro_batches))
        return made.moments["last block"]["blocks"].times

    assert [blocks(stage, 8) for stage in range(4)] == [32, 24, 16, 8]
    assert [blocks(stage, 2) for stage in range(4)] == [16, 16, 16, 8]
    assert "loss" not in forms.step("Llama-2-7B", sharding=Sharding(pipeline=4, stage=0)).moments


@pytest.mark.parametrize("model", PLAIN, ids=str)
def test_a_term_is_the_sum_of_its_list_and_every_line_has_a_source(model):
    made = forms.step(model, checkpoint="none")
    for terms in made.moments.values():
        assert terms.total == sum(terms.nbytes.values())
        for term in terms:
            assert term.nbytes == term.times * sum(op.nbytes for op in term.operators)
            assert all(op.source in SAYS for op in term.operators if term.name != "temporaries" or op.source)
    assert made.peak == max(terms.total for terms in made.moments.values())


def test_sequence_parallelism_splits_the_blocks_evenly():
    whole = forms.activations("Llama-2-7B", 2, 4096)["blocks"].nbytes
    assert (
        forms.activations("Llama-2-7B", 2, 4096, sharding=Sharding(tensor=8, sequence=True))["blocks"].nbytes * 8
        == whole
    )
    assert forms.activations("Llama-2-7B", 2, 4096, sharding=Sharding(tensor=8))["blocks"].nbytes * 8 > whole


def test_no_paper_is_idle_and_none_stands_twice():
    lists = [op.source for model in PLAIN for attention in ("flash", "math") for op in block(model, attention, 0.1)]
    steps = [
        forms.step(name, precision=p, optimizer=o, sharding=Sharding(data=8, zero=zero))
        for name, zero, p, o in [
            ("Llama-2-7B", 3, "bf16", "adamw"),
            ("Llama-2-7B", 0, "fp32", "adamw"),
            ("GPT-2", 0, "autocast", "sgd"),
        ]
    ]
    steps_ = [term for step in steps for terms in step.moments.values() for term in terms]
    lists += [t.source for t in steps_] + [op.source for t in steps_ for op in t.operators]
    lists += [forms.kv_cache(name, 1, 8).source for name in ("Llama-2-7B", "Llama-3-8B", "DeepSeek-V3")]
    lists += [term.source for term in forms.fsdp2_states([(8, 4)], nranks=2).terms]
    served = {"vllm-prefix-caching", "orca", "zero-offload"}  # named by kv_cache and offload, which hold no terms
    assert set(PAPERS) <= set(lists) | served
    assert not set(PAPERS) & set(SOURCES)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: forms.states(0), "nparams must be a whole number of at least 1, got 0"),
        (lambda: forms.states([]), "at least one unit"),
        (lambda: forms.states(10, "bf8"), "precision must be one of fp32, bf16"),
        (lambda: forms.states(10, optimizer="lion"), "optimizer must be one of sgd"),
        (lambda: forms.states(10, zero=4), "zero must be one of 0, 1, 2, 3, got 4"),
        (lambda: forms.states(10, zero=1), "nranks must be at least 2, got 1"),
        (lambda: forms.activations("Llama-9"), "model must be one of GPT-2"),
        (lambda: forms.activations("GPT-2", batch=0), "batch must be a whole number"),
        (lambda: forms.activations("GPT-2", checkpoint="half"), "checkpoint must be one of none"),
        (lambda: forms.activations("GPT-2", dropout=1.0), "dropout must be at least 0 and below 1"),
        (lambda: forms.activations("GPT-2", attention="slow"), "attention must be one of flash, math"),
        (lambda: forms.activations("DeepSeek-V3"), "latent attention"),
        (lambda: forms.kv_cache("Llama-3-8B", tensor=16), "cannot share kv_heads=8"),
    ],
)
def test_bad_input_is_refused_by_name(call, words):
    with pytest.raises(forms.FormError, match=words.replace("(", r"\(")):
        call()


@pytest.mark.parametrize(
    ("call", "split", "words"),
    [
        (forms.activations, {"tensor": 5}, "tensor=5 ranks cannot share heads=12 of GPT-2 evenly"),
        (forms.step, {"pipeline": 5}, "pipeline=5 ranks cannot share layers=12 of GPT-2 evenly"),
        (forms.step, {"data": 2, "expert": 2}, "expert=2 ranks cannot share experts=0 of GPT-2 evenly"),
        (forms.step, {"tensor": 2, "sequence": True}, "tensor=2 ranks cannot share seq=7 of GPT-2 evenly"),
    ],
)
def test_what_the_ranks_cannot_share_is_refused_by_name(call, split, words):
    with pytest.raises(ShardingError, match=words):
        call("GPT-2", seq=7, sharding=Sharding(**split))


def test_terms_print_as_tables():
    made = forms.states(1000, zero=1, nranks=3)
    assert str(made).splitlines()[0] == "States of 1,000 parameters, bf16, adam, ZeRO-1 on 3 ranks"
    assert "4 P / 3" in str(made) and str(made).splitlines()[-1].startswith("together")
    term = forms.activations("GPT-2")["blocks"]
    assert len(str(term).splitlines()) == len(term.operators) + 2
    assert "softmax" not in str(term) and "GELU: its input" in str(term)
    assert "<script" not in made._repr_html_() and "<td>momentum</td>" in made._repr_html_()
    with pytest.raises(KeyError, match="no term 'kv'; there are: parameters"):
        made["kv"]


def test_gradients_are_made_as_backward_reaches_them():
    """A buffer in fp32 is there from the start; gradients in the weights' type come block by block."""

    def made(precision):
        moments = forms.step("GPT-2", batch=1, seq=16, precision=precision).moments
        return [sum(term.nbytes for term in terms if term.cls == "gradient") for terms in moments.values()]

    nparams, by_block = MODELS["GPT-2"].nparams, made("bf16")
    assert by_block[:2] == [0, 0] and 0 < by_block[2] < by_block[3] < by_block[4] == 2 * nparams
    assert made("bf16-fp32grads") == [4 * nparams] * 5


@pytest.mark.parametrize(
    ("precision", "stream", "compute"), [("fp32", 4, 4), ("bf16", 2, 2), ("bf16-true", 2, 2), ("autocast", 4, 2)]
)
def test_a_precision_has_a_width_for_the_stream_and_one_to_compute_in(precision, stream, compute):
    items = [kept("mine", "a tensor", "b s h", role) for role in ("stream", "compute", "fp32")]
    assert [each.width for each in operators(items, sizes(MODELS["GPT-2"], 1, 1), precision)] == [stream, compute, 4]


@pytest.mark.parametrize(
    ("optimizer", "precision", "outside", "inside", "copies", "numel"),
    [
        ("adamw-fused", "bf16", 50, 20, 0, 0),
        ("sgd", "bf16", 50, 20, 1, 50),  # bf16's own gradient is widened first
        ("sgd", "bf16-fp32grads", 50, 20, 0, 0),
        ("momentum", "fp32", 50, 20, 0, 0),
        ("adamw-foreach", "bf16", 50, 20, 2, 100),
        ("adamw-foreach", "fp32", 50, 20, 1, 100),
        ("adam", "bf16", 20, 50, 3, 50),
        ("adam", "bf16-fp32grads", 20, 50, 2, 50),
        ("adam", "fp32", 50, 20, 2, 50),  # a table stands between small parameters
        ("adam", "fp32", 20, 50, 3, 50),  # matrices follow each other
    ],
)
def test_the_copies_that_an_optimizer_makes_at_its_highest(optimizer, precision, outside, inside, copies, numel):
    made = optimizer_temporaries(optimizer, precision, 100, outside, inside)
    assert [operator.nbytes for operator in made] == [4 * numel] * copies


MIXTURE = (
    *(
        "norm 1",
        "norm 1",
        "q, k, v projections",
        "attention",
        "attention",
        "attention",
        "output projection",
        "attention",
    ),
    *("norm 2", "norm 2", "router", "router", "router", "router", "router", "dispatch", "dispatch"),
    *("gate and up projections", "SiLU", "gate times up", "gate times up", "down projection"),
    *("combine", "combine", "combine"),
)


def test_every_operator_of_a_mixture_keeps_its_own_tensors():
    blocks = forms.activations("Mixtral-8x7B", 1, 16)["blocks"]
    assert tuple(operator.name for operator in blocks.operators) == MIXTURE
    dense = forms.activations("Llama-2-7B", 1, 16)["blocks"]
    gated = [operator.keeps for operator in dense.operators if operator.name == "gate times up"]
    assert gated == [operator.keeps for operator in blocks.operators if operator.name == "gate times up"]


def test_a_list_of_ones_own_is_added_up_the_same():
    listed = operators([kept("mine", "a tensor", "b s h", "fp32")], sizes(MODELS["GPT-2"], 2, 3), "bf16")
    assert listed[0].nbytes == 4 * 2 * 3 * 768 and listed[0].formula == "4 b s h"
