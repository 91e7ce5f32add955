"""The published tables agree with themselves: times with bandwidths, bandwidths with each other, to the printed digit."""

import json
from itertools import pairwise

import pytest

from helpers.facts import FactError, public, public_names
from helpers.facts.tables import PUBLIC, build_table

MEMORY = ["optimum-benchmark-training", "vit-large-training"]
# What a product loses beside a collective, and who moves without taking it.
BESIDE = ["conccl-overlap", "deepep-sms", "fsdp-4xgb200-symmetric", "fsdp-8xh100-copy-engines", "overlap-8xh100"]
BESIDE += ["all-gather-8xh100-copy-engines", "fsdp-8xh20-symmetric", "nccl-put-signal-pipeline"]
ALL_REDUCE = [name for name in public_names() if name.endswith("all_reduce")]
ROWS = {
    "nccl-tests-4xh100-all_reduce": (28, 8, 2**30),
    "torch-4xh100-all_reduce": (20, 2**15, 2**34),
    "nccl-tests-8xa100-all_reduce": (20, 2**15, 2**34),
    "torch-8xh200-all_reduce": (20, 2**15, 2**34),
    "nccl-tests-h200-b200-nvls": (10, 2**33, 2**33),
    "nccl-tests-8xh200-collectives": (4, 2**34, 2**34),
    "nccl-tests-8xa100-latency": (7, 128, 128),
    "nccl-tests-six-gpus": (114, 512, 2048),
    "nccl-tests-six-gpus-timings": (308, 512, 2048),
    "nccl-tests-several-nodes": (271, 8, 2**34),
    "torch-4xh100-lecture": (8, 4 * 100 * 2**20, 16 * 100 * 2**20),
    "gpu-benches-a100-l2": (85, 1536 * 1024, 4881920 * 1024),
    "gpu-benches-h100-pcie-l2": (86, 1024 * 1024, 4881920 * 1024),
    "gpu-benches-h200-l2": (85, 1536 * 1024, 4881920 * 1024),
}


def test_every_table_is_there_whole():
    assert public_names() == sorted([*ROWS, *MEMORY, *BESIDE])
    for name, (count, smallest, largest) in ROWS.items():
        sizes = public(name).column("nbytes")
        assert (len(sizes), min(sizes), max(sizes)) == (count, smallest, largest)


def test_runs_between_nodes_agree_with_their_times():
    """Two decimals of busbw, four digits of a time; and each row says who published it."""
    for row in public("nccl-tests-several-nodes").rows:
        assert row["url"].startswith("https://github.com/") and row["nranks"] % row["nodes"] == 0
        factor = (2 if row["collective"] == "all_reduce" else 1) * (row["nranks"] - 1) / row["nranks"]
        if row["seconds"]:
            busbw = row["nbytes"] / row["seconds"] / 1e9 * factor
            assert row["busbw"] == pytest.approx(busbw, rel=1e-3, abs=0.02)


def test_the_memory_of_public_training_runs_is_what_five_copies_of_the_parameters_take():
    table = public(MEMORY[0])
    params = {"BERT-base": 109_514_298, "GPT-2": 124_439_808, "ViT-base": 86_567_656}
    assert table.column("model") == list(params)
    for row in table.rows:
        assert 20 * params[row["model"]] < row["max_allocated"] < 20.2 * params[row["model"]] < row["max_reserved"]


def test_vit_large_held_less_with_fewer_bits_and_fewer_pictures():
    table = public(MEMORY[1])
    held = table.column("max_reserved")
    assert held == sorted(held, reverse=True) and table.column("batch") == [64, 64, 64, 16]


def test_what_is_told_beside_a_product_agrees_with_itself():
    """Copies beat a kernel, and both beat doing one after the other; MFU goes with the tokens; more SMs carry more."""
    in_turn, by_kernel, by_engine = public("overlap-8xh100").column("seconds")
    assert in_turn > by_kernel > by_engine > in_turn / 2
    before, after = public("fsdp-8xh100-copy-engines").rows
    assert after["tokens"] / before["tokens"] == pytest.approx(after["mfu"] / before["mfu"], rel=1e-3)
    printed = [1.023, 1.011, 1.024, 1.027, 1.063, 1.034]
    gains = [row["after"] / row["before"] for row in public("fsdp-4xgb200-symmetric").rows]
    assert gains == pytest.approx(printed, abs=6e-4)
    assert public("conccl-overlap").column("share") == sorted(public("conccl-overlap").column("share"))
    assert public("nccl-put-signal-pipeline").rows[0].keys() == public("nccl-put-signal-pipeline").units.keys()
    gathers = public("all-gather-8xh100-copy-engines").rows
    assert all(row["kernel"] > row["copy_engines"] for row in gathers), "alone, the kernel is the faster way"
    usual, asked = public("fsdp-8xh20-symmetric").rows
    assert 1 - asked["seconds"] / usual["seconds"] == pytest.approx(0.1076, abs=1e-4)  # as printed there
    assert asked["rollout"] / usual["rollout"] - 1 == pytest.approx(0.0176, abs=1e-4)
    most, least = public("deepep-sms").rows[2:]
    assert most["sms"] > least["sms"] and most["dispatch"] > least["dispatch"] and most["combine"] > least["combine"]


@pytest.mark.parametrize(
    ("gpu", "l2", "memory"),
    [("a100", (5.2, 5.5), (1.7, 1.74)), ("h100-pcie", (6.8, 7.1), (1.76, 2.0)), ("h200", (9.7, 10.3), (3.88, 3.9))],
)
def test_an_l2_is_a_step_between_its_two_bandwidths(gpu, l2, memory):
    """In TB/s, reads: 8 to 20 MiB lie in every one of these caches, a gibibyte in none."""
    table = public(f"gpu-benches-{gpu}-l2")
    sizes, rates = table.column("nbytes"), table.column("bandwidth")
    assert all(a < b for a, b in pairwise(sizes))
    near = [rate / 1e12 for size, rate in zip(sizes, rates, strict=True) if 8 * 2**20 <= size <= 20 * 2**20]
    far = [rate / 1e12 for size, rate in zip(sizes, rates, strict=True) if size >= 2**30]
    assert l2[0] < min(near) < max(near) < l2[1] and memory[0] < min(far) < max(far) < memory[1]


@pytest.mark.parametrize("name", ALL_REDUCE)
def test_sizes_double(name):
    sizes = public(name).column("nbytes")
    assert all(b == 2 * a for a, b in pairwise(sizes))


@pytest.mark.parametrize("name", ALL_REDUCE)
def test_busbw_is_algbw_times_the_factor(name):
    """Both columns are printed to 0.01 GB/s, so the product may be off by half a digit of each."""
    table = public(name)
    factor = 2 * (table.nranks - 1) / table.nranks
    for where in ("", "in_place_") if "in_place_busbw" in table.rows[0] else ("",):
        for row in table.rows:
            assert abs(row[f"{where}busbw"] - row[f"{where}algbw"] * factor) <= 0.005 * (1 + factor) + 1e-9


@pytest.mark.parametrize("name", [name for name in ALL_REDUCE if name.startswith("nccl-tests")])
def test_time_times_algbw_is_the_size(name):
    """The times carry four or five digits, algbw two decimals."""
    table = public(name)
    for where in ("", "in_place_") if "in_place_seconds" in table.rows[0] else ("",):
        for row in table.rows:
            algbw = row["nbytes"] / row[f"{where}seconds"] / 1e9
            assert abs(row[f"{where}algbw"] - algbw) <= 0.005 + 1e-3 * algbw


@pytest.mark.parametrize("name", [name for name in ALL_REDUCE if name.startswith("torch")])
def test_a_script_that_prints_no_time_has_none(name):
    assert public(name).column("seconds") == [None] * 20
    assert any("times" in missing for missing in public(name).not_stated)


def test_the_two_runs_on_the_4_h100s_agree_at_1_gib():
    one, other = (
        next(row for row in public(name).rows if row["nbytes"] == 2**30)
        for name in ("nccl-tests-4xh100-all_reduce", "torch-4xh100-all_reduce")
    )
    assert one["busbw"] == pytest.approx(other["busbw"], rel=1e-3) == pytest.approx(355.8, abs=0.1)


def test_the_gain_of_nvls_is_the_ratio_of_its_columns():
    for row in public("nccl-tests-h200-b200-nvls").rows:
        assert row["busbw"] / row["busbw_nvls_off"] == pytest.approx(row["gain"], abs=0.006)
        assert (row["gain"] > 1.01) == (row["algorithm"] == "NVLS")


def test_the_percentages_compare_with_450():
    for row in public("nccl-tests-8xh200-collectives").rows:
        assert row["busbw"] / 4.5 == pytest.approx(row["percent_of_450"], abs=0.7)


def test_latencies_grow_with_the_ranks_and_from_protocol_to_protocol():
    table = public("nccl-tests-8xa100-latency")
    assert table.column("nranks") == list(range(2, 9))
    for protocol in ("ll", "ll128", "simple"):
        assert all(a < b for a, b in pairwise(table.column(protocol)))
    assert all(row["ll"] < row["ll128"] < row["simple"] for row in table.rows)


def test_the_lecture_divides_a_reduce_scatter_by_its_output():
    """What its program prints, from its own times: (n - 1) / n buffers a second in GiB, of the output where the input is larger."""
    for row in public("torch-4xh100-lecture").rows:
        passed, part = (2, 1) if row["collective"] == "all_reduce" else (1, 4)
        printed = row["nbytes"] / part * passed * 3 / 4 / row["seconds"] / 2**30
        assert printed == pytest.approx(row["published"], rel=0.003, abs=0.5), "both were rounded"


@pytest.mark.parametrize("name", sorted(ROWS))
def test_every_column_has_its_unit_or_is_a_name(name):
    table = public(name)
    names = {"collective", "algorithm", "gpu", "nranks", "nodes", "network", "run", "by", "url", "nccl"}
    columns = {column.removeprefix("in_place_") for column in table.rows[0]}
    assert columns <= set(table.units) | names
    assert all(list(row) == list(table.rows[0]) for row in table.rows)


@pytest.mark.parametrize("part", ["title", "url", "where", "checked"])
def test_a_table_without_a_whole_source_is_refused(part):
    data = json.loads((PUBLIC / "torch-8xh200-all_reduce.json").read_text(encoding="utf-8"))
    assert build_table("x", data).nranks == 8
    with pytest.raises(FactError, match=part):
        build_table("x", data | {"source": data["source"] | {part: None}})


@pytest.mark.parametrize("part", ["machine", "rows", "not_stated", "units"])
def test_a_table_that_lacks_a_field_is_refused(part):
    data = json.loads((PUBLIC / "torch-8xh200-all_reduce.json").read_text(encoding="utf-8"))
    with pytest.raises(FactError, match=part):
        build_table("x", {key: value for key, value in data.items() if key != part})


def test_unknown_names_are_answered_with_close_ones():
    with pytest.raises(KeyError, match="nccl-tests-4xh100-all_reduce"):
        public("nccl-tests-4xh100")
    with pytest.raises(KeyError) as said:
        public("nccl-tests")
    assert str(said.value).count(",") == 2, "three names"
    with pytest.raises(KeyError, match="no published table"):
        public("../private")
    with pytest.raises(KeyError, match="algbw, busbw"):
        public("torch-8xh200-all_reduce").column("latency")
