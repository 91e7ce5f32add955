"""Published runs: every row is whole, its model has the parameters that its source counts, and what is damaged is refused."""

from copy import deepcopy

import pytest

from helpers.facts import MACHINES, MODELS, RUNS, SOURCES, FactError
from helpers.facts.fact import read
from helpers.facts.run import build_runs
from helpers.ledger.flops import AGAIN

TFLOPS = ["model", "seq", "gpus", "batch", "tflops"]


def test_parameters_are_the_published_ones():
    told = [run for run in RUNS if run.nparams]
    assert len(told) == 38
    assert [str(run) for run in told if run.model.nparams != run.nparams] == []
    named = {run.model.name: run.model.nparams / 1e9 for run in RUNS if run.tflops}
    for name, billions in named.items():
        assert billions == pytest.approx(float(name.removeprefix("Megatron-").removesuffix("B")), rel=0.05), name


def test_the_rule_that_chose_them_holds():
    for run in RUNS:
        assert 6.5e9 < run.model.nparams < 72e9 and 2048 <= run.seq <= 8192, run
        assert run.machine in MACHINES and run.checkpoint in AGAIN and run.source in SOURCES.values(), run
        assert run.sequences == run.batch * run.micro_batches * run.gpus // (run.tensor * run.pipeline)


def test_a_global_batch_is_the_published_one():
    """llm-foundry's own column of sequences: 70B on 512 and on 64, 30B on 8."""
    found = {(run.model.name, run.gpus, run.seq): run.sequences for run in RUNS if run.table == "llm-foundry-h100"}
    assert found["MPT-70B", 512, 2048] == 4096
    assert found["MPT-70B", 64, 2048] == 2048
    assert found["MPT-30B", 8, 4096] == 168


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source": "nobody"}, "a source listed in sources.toml, got 'nobody'"),
        ({"rows": [["Llama-3-8B", 8192]]}, "a row fills the columns"),
        ({"rows": [["Llama-9-8B", 8192, 8, 1, "none", 1.0]]}, "no model 'Llama-9-8B'"),
        ({"rows": [["Llama-3-8B", 8192, 8, 1, "none", 0.0]]}, "tokens a second or TFLOP/s, got 0.0 and 0.0"),
        ({"columns": TFLOPS, "rows": [["Llama-3-8B", 8192, 8, 1, 400.0]]}, "scores that .* got 400.0 and pairs ''"),
        ({"pairs": "all"}, "scores that .* got 0.0 and pairs 'all'"),
        ({"colour": "red"}, "colour"),
        ({"tensor": 3}, "8 GPUs are not shared by 3 tensor ranks"),
    ],
)
def test_what_is_damaged_is_refused(change, words):
    table = deepcopy({"models": read("runs")["models"], "runs": {"one": read("runs")["runs"]["torchtitan-a100"]}})
    table["runs"]["one"]["rows"] = [["Llama-3-8B", 8192, 8, 1, "none", 2904]]
    assert len(build_runs(table, MODELS, SOURCES)) == 1
    table["runs"]["one"].update(change)
    with pytest.raises(FactError, match=words):
        build_runs(table, MODELS, SOURCES)
