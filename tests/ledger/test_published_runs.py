"""The ledger beside 56 runs that others published: two numbers fitted to 19 of them, and how far the rest are."""

from dataclasses import replace
from statistics import median

import pytest

from helpers.facts import FACTS, MODELS, RUNS
from helpers.ledger import SETUPS
from helpers.ledger.efficiency import efficiency_of
from helpers.ledger.flops import PAIRS, flops
from helpers.ledger.published import Compared, compared, compared_at, fit

FITTED, OTHERS = 0.30, 0.25  # how far tokens a second may be off: on one node, which were fitted to, and on more GPUs


@pytest.fixture(scope="module")
def found() -> list[Compared]:
    return compared()


def test_every_run_is_as_near_as_the_page_says(found):
    far = {
        str(one.run): round(one.ratio, 3) for one in found if abs(one.ratio - 1) > (FITTED if one.fitted else OTHERS)
    }
    assert far == {}
    assert len(found) == len(RUNS) == 56 and sum(one.fitted for one in found) == 19
    assert median(abs(one.ratio - 1) for one in found if not one.fitted) < 0.15


def test_bounds_are_not_loose(found):
    """A bound that nothing comes near would say nothing."""
    for fitted, bound in ((True, FITTED), (False, OTHERS)):
        assert max(abs(one.ratio - 1) for one in found if one.fitted == fitted) > bound - 0.01


@pytest.mark.parametrize("name", ["A100", "H100"])
def test_the_efficiency_is_the_fit_to_three_digits(name):
    assert efficiency_of(name) == round(fit(name), 3)
    assert efficiency_of("H200") == efficiency_of("H100")


def test_runs_on_more_than_one_node_have_no_part_in_the_fit():
    moved = [
        replace(run, tokens_per_second=run.tokens_per_second * (3 if run.gpus > 8 else 1))
        for run in RUNS
        if not run.tflops
    ]
    assert fit("H100", moved) == fit("H100")
    with pytest.raises(ValueError, match="no published run on one node of H100"):
        fit("H100", [run for run in RUNS if run.gpus > 8])


def test_mfu_and_hfu_are_the_published_ones_for_the_published_speed():
    """llm-foundry's own columns, 70B on 64 H100: MFU 42.57, HFU 56.76; they count the positions' table too, and no head twice."""
    (run,) = [run for run in RUNS if run.table == "llm-foundry-h100" and (run.model.name, run.gpus) == ("MPT-70B", 64)]
    one = compared_at(run, efficiency_of("H100"))
    clock = replace(
        one.clock, compute=run.sequences * run.seq / run.gpus / run.tokens_per_second, exposed={}, waits=0, update=0
    )
    assert clock.tokens_per_second == pytest.approx(run.tokens_per_second)
    assert clock.mfu == pytest.approx(0.4257, rel=0.01)
    assert clock.hfu == pytest.approx(0.5676, rel=0.01)


def test_torchtitan_s_mfu_is_counted_as_ours():
    """8B on 64 A100, every second layer recomputed: 2,904 tokens a second are 56.8 %, if the embedding's table counts, too."""
    (run,) = [run for run in RUNS if run.tokens_per_second == 2904]
    clock = compared_at(run, 0.5).clock
    table = 6 * run.model.vocab * run.model.hidden
    assert (clock.counted.model / clock.tokens + table) * 2904 / clock.peak == pytest.approx(0.568, abs=0.0005)


def test_nvidia_s_mfu_is_counted_as_ours_with_every_key():
    """dgxc-benchmarking v25.01.1: 70B, 64 H100, 128 sequences of 8,192 tokens in 14.72 s are 1,113 tokens a second and an MFU of 54.1 %."""
    seconds, peak = FACTS["nvidia-70b.step"].number, SETUPS["70B"].peak
    assert 128 * 8192 / seconds / 64 == pytest.approx(FACTS["nvidia-70b.tokens"].number, rel=1e-3)
    mfu = {pairs: 2 * SETUPS["70B"].flops(pairs=pairs).model / (64 * peak * seconds) for pairs in ("all", "causal")}
    assert mfu["all"] == pytest.approx(FACTS["nvidia-70b.mfu"].number, rel=0.002) and mfu["causal"] < 0.51
    assert (
        6 * MODELS["Llama-3-70B"].nparams * 8192 < SETUPS["70B"].flops().model / 64 == pytest.approx(3.94e15, rel=0.002)
    )


def test_megatron_s_flops_are_counted_as_ours():
    for run in (run for run in RUNS if run.tflops):
        layers, hidden, vocab, seq = run.model.layers, run.model.hidden, run.model.vocab, run.seq
        theirs = 12 * layers * hidden**2 * (2 + seq / hidden + 4 + vocab / (2 * layers * hidden))
        ours = compared_at(run, 0.5).clock.counted.model / (run.sequences * run.seq)
        assert ours == pytest.approx(theirs, rel=1e-12)


def test_flops_are_counted_back_with_the_scores_that_their_source_counts():
    (run,) = [run for run in RUNS if run.model.name == "Megatron-70B"]
    of = {pairs: compared_at(replace(run, pairs=pairs), 0.5) for pairs in PAIRS}
    all_keys, half = (flops(run.model, 1, run.seq, pairs=pairs).model for pairs in PAIRS)
    assert of["causal"].published / of["all"].published == pytest.approx(all_keys / half) and all_keys > 1.03 * half
    assert of["causal"].tokens_per_second == of["all"].tokens_per_second


def test_the_best_case_of_hiding_is_faster_and_no_faster_than_computing(found):
    hidden = [one for one in found if one.run.hides]
    assert len(hidden) == 4
    for one in hidden:
        bare = compared_at(replace(one.run, hides=()), efficiency_of("H100")).clock
        assert bare.seconds > one.clock.seconds > one.clock.compute == bare.compute
