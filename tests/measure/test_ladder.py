"""The ladder: its bytes, its steps, its caches and its refusals. Times are not asserted; `python -m benchmarks.ladder` prints them."""

import json
import os

import numpy as np
import pytest
import torch

from benchmarks import ladder as benchmark
from helpers.measure import Cache, Ladder, Plateau, Rung, caches, ladder
from helpers.measure.bandwidth.ladder import PER_CALL, _on_one_cpu, _pair, _visit, default_sizes, moved
from helpers.measure.bandwidth.ladder_gpu import gpu_sizes, trusted
from helpers.measure.bandwidth.steps import find_steps, named
from helpers.units import GIB, KIB, MIB

LEVELS = (("L1", 32 * KIB), ("L2", MIB), ("L3", 32 * MIB))


# what a pass is ------------------------------------------------------------------------------------------------------------
def test_a_pass_moves_twelve_bytes_for_each_float_of_c():
    assert moved(8 * KIB) == 12 * 1024  # 1024 floats in a and as many in c
    assert [moved(n) / n for n in (KIB, MIB, 256 * MIB)] == [1.5] * 3


def test_every_pass_is_really_made():
    """The stride-0 rows are added one by one: c ends as often a as there are passes."""
    a, c = np.ones(1024, np.float32), np.zeros(1024, np.float32)
    seconds = _visit(a, c, 1e-6)
    assert seconds > 0 and np.all(c == PER_CALL // (3 * a.nbytes))


@pytest.mark.parametrize("nbytes", [KIB, 12 * KIB, 3 * MIB])
def test_the_two_buffers_lie_apart_inside_the_memory_given(nbytes):
    buffer = np.zeros(nbytes // 4 + 4 * KIB, np.float32)
    a, c = _pair(buffer, nbytes)
    assert a.nbytes == c.nbytes == nbytes // 2 and not np.shares_memory(a, c)
    assert a.ctypes.data % 4096 == 0 and c.ctypes.data % 4096 == 2048
    assert c.ctypes.data + c.nbytes <= buffer.ctypes.data + buffer.nbytes


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not pin threads")
def test_the_thread_is_let_go_again():
    before = os.sched_getaffinity(0)
    with pytest.raises(KeyError), _on_one_cpu():
        assert len(os.sched_getaffinity(0)) == 1
        raise KeyError
    assert os.sched_getaffinity(0) == before


# a ladder --------------------------------------------------------------------------------------------------------------------
def test_a_ladder_has_a_rung_for_each_size_and_survives_json():
    sizes = [4 * KIB, 64 * KIB, 1000 * KIB, MIB]
    found = ladder(sizes=sizes, seconds=0.05)
    assert [rung.nbytes for rung in found.rungs] == sizes
    assert all(r.seconds > 0 and r.bandwidth == moved(r.nbytes) / r.seconds for r in found.rungs)
    assert Ladder.of(json.loads(json.dumps(found.data()))) == found
    assert found.fastest.bandwidth == max(r.bandwidth for r in found.rungs)
    assert found.levels == tuple((cache.name, cache.nbytes) for cache in caches())


def test_too_few_sizes_have_no_steps():
    assert ladder(sizes=[MIB], seconds=0.01).steps == ()


def test_memory_is_what_lies_four_times_beyond_the_last_cache():
    rungs = [
        Rung(n, 1.0, bandwidth) for n, bandwidth in ((KIB, 9.0), (64 * MIB, 5.0), (128 * MIB, 3.0), (256 * MIB, 2.0))
    ]
    assert Ladder("cpu", tuple(rungs), (), LEVELS).memory == 2.5
    assert Ladder("cpu", tuple(rungs), (), ()).memory == 3.0  # no caches known: the three largest
    assert Ladder("cpu", tuple(rungs[:1]), (), LEVELS).memory == 9.0


def test_it_prints_a_row_a_step():
    steps = (Plateau(4 * KIB, 32 * KIB, 2e11, "L1", 32 * KIB), Plateau(64 * MIB, 256 * MIB, 4e10, "memory"))
    lines = str(Ladder("cpu", (), steps, LEVELS, "one thread")).splitlines()
    assert lines[0] == "cpu; c += a, reads and writes together. one thread"
    assert lines[2].split() == ["4", "KiB", "to", "32", "KiB", "200", "32", "KiB", "L1"]
    assert lines[3].split() == ["64", "MiB", "to", "256", "MiB", "40", "memory"]


def test_sizes_unless_told():
    sizes = default_sizes(LEVELS)
    assert (sizes[0], sizes[-1]) == (4 * KIB, 256 * MIB) and sizes == sorted(set(sizes))
    assert set(gpu_sizes((("L2", 50 * MIB),))) >= {MIB, 48 * MIB, GIB} and min(gpu_sizes(())) == MIB
    assert max(gpu_sizes((("L2", 256 * MIB),))) == 2 * GIB


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"sizes": [2 * KIB, KIB]}, "rising, got \\[2048, 1024\\]"),
        ({"sizes": [100]}, "at least 1024, rising, got \\[100\\]"),
        ({"sizes": [1.5e6]}, "whole numbers"),
        ({"sizes": []}, "whole numbers"),
        ({"sizes": [2**50]}, "a working set of 1024 TiB wants twice that free"),
        ({"seconds": 0}, "positive, got 0"),
        ({"device": "meta"}, "got 'meta'"),
        ({"device": "gpu"}, "got 'gpu'"),
    ],
)
def test_wrong_questions_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        ladder(**wrong)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_missed_loudly():
    with pytest.raises(RuntimeError, match="device cuda needs a GPU: "):
        ladder("cuda")


def test_a_pass_that_is_mostly_a_launch_is_no_rung():
    assert trusted([2e-6, 5.9e-6, 6e-6, 1e-3], bare=2e-6) == [float("inf"), float("inf"), 6e-6, 1e-3]


@pytest.mark.gpus(1)
def test_a_gpu_has_an_l2_and_a_memory_behind_it():
    found = ladder("cuda")
    assert found.levels[0][0] == "L2" and found.fastest.bandwidth > found.memory > 1e10


# steps -----------------------------------------------------------------------------------------------------------------------
def curve(*plateaus, noise=0.03, seed=0):
    """(sizes, bandwidths) of half octaves from 4 KiB: each plateau (last size, bandwidth) with noise."""
    sizes = [n for k in range(12, 29) for n in (2**k, 3 * 2 ** (k - 1))][: 2 * 17 - 1]
    level = [next(b for last, b in plateaus if n <= last) for n in sizes]
    return sizes, level * np.exp(np.random.default_rng(seed).normal(0, noise, len(sizes)))


def test_a_step_lies_in_the_smallest_cache_that_holds_its_middle():
    middles = {"L1": 32 * KIB, "L2": 32 * KIB + 1024, "L3 and memory": 33 * MIB, "memory": GIB}
    steps = named([Plateau(middle // 4, middle * 4, 1e11 / k) for k, middle in enumerate(middles.values(), 1)], LEVELS)
    assert [step.level for step in steps] == list(middles)


@pytest.mark.parametrize("seed", range(10))
def test_four_steps_are_found_where_they_are(seed):
    edges = [32 * KIB, MIB, 32 * MIB, GIB]
    steps = named(find_steps(*curve(*zip(edges, (240e9, 165e9, 125e9, 42e9), strict=True), seed=seed)), LEVELS)
    assert [step.level for step in steps] == ["L1", "L2", "L3", "memory"]
    assert [step.last for step in steps] == [32 * KIB, MIB, 32 * MIB, 256 * MIB]
    assert [step.bandwidth for step in steps] == pytest.approx([240e9, 165e9, 125e9, 42e9], rel=0.05)
    assert [step.capacity for step in steps] == [32 * KIB, MIB, 32 * MIB, None]


@pytest.mark.parametrize("seed", range(10))
def test_a_flat_curve_is_one_step(seed):
    (step,) = find_steps(*curve((GIB, 100e9), seed=seed))
    assert (step.first, step.last) == (4 * KIB, 256 * MIB)


def test_a_slope_is_no_step():
    sizes = [2**k for k in range(12, 24)]
    assert find_steps(sizes, [2.0 ** (40 - k) for k in range(12)]) == ()


def test_one_disturbed_size_splits_no_step():
    sizes, bandwidths = curve((MIB, 200e9), (GIB, 50e9), noise=0)
    bandwidths[5] /= 3
    assert [step.last for step in find_steps(sizes, bandwidths)] == [MIB, 256 * MIB]


def test_names_come_from_what_the_machine_announces():
    steps = [Plateau(4 * KIB, 16 * KIB, 3e11), Plateau(48 * MIB, 96 * MIB, 6e10), Plateau(128 * MIB, 256 * MIB, 4e10)]
    assert [step.level for step in named(steps, LEVELS)] == ["L1", "L3 and memory", "memory"]
    assert [step.level for step in named(steps, ())] == ["", "", ""]


def test_near_steps_on_one_level_are_one_and_far_ones_stay_two():
    near = named([Plateau(2 * MIB, 4 * MIB, 130e9), Plateau(6 * MIB, 24 * MIB, 120e9)], LEVELS)
    assert [(s.first, s.last) for s in near] == [(2 * MIB, 24 * MIB)] and 120e9 < near[0].bandwidth < 125e9
    assert len(named([Plateau(2 * MIB, 4 * MIB, 130e9), Plateau(6 * MIB, 24 * MIB, 90e9)], LEVELS)) == 2


@pytest.mark.parametrize("sizes, bandwidths", [([1, 2, 3], [1.0, 2.0]), ([1, 2], [1.0, 1.0])])
def test_a_curve_needs_its_points(sizes, bandwidths):
    with pytest.raises(ValueError, match="as many bandwidths as sizes, at least 3"):
        find_steps(sizes, bandwidths)


@pytest.mark.parametrize("sizes, bandwidths", [([1, 2, 2], [1.0] * 3), ([1, 2, 3], [1.0, 0.0, 1.0])])
def test_a_curve_rises_in_size_and_is_positive(sizes, bandwidths):
    with pytest.raises(ValueError, match="must rise, and bandwidths be positive"):
        find_steps(sizes, bandwidths)


# caches ----------------------------------------------------------------------------------------------------------------------
def announce(folder, *rows, cpu=0):
    for i, row in enumerate(rows):
        index = folder / f"cpu{cpu}" / "cache" / f"index{i}"
        index.mkdir(parents=True)
        for name, text in zip(("type", "level", "size", "shared_cpu_list"), row, strict=True):
            (index / name).write_text(text + "\n")


def test_caches_are_read_nearest_first_and_instructions_left_out(tmp_path):
    announce(tmp_path, ("Unified", "3", "32768K", "0-7"), ("Data", "1", "48K", "0"), ("Instruction", "1", "32K", "0"))
    assert caches(0, tmp_path) == (Cache(1, 48 * KIB, "0"), Cache(3, 32 * MIB, "0-7"))
    assert [cache.name for cache in caches(0, tmp_path)] == ["L1", "L3"]


@pytest.mark.parametrize(
    "row", [("Unified", "3", "", ""), ("Unified", "3", "0K", ""), ("Data", "", "48K", ""), ("", "1", "48K", "")]
)
def test_what_is_not_announced_stays_unknown(tmp_path, row):
    announce(tmp_path, row)
    assert caches(0, tmp_path) == () == caches(1, tmp_path)


# the benchmark ---------------------------------------------------------------------------------------------------------------
@pytest.mark.matrix("benchmarks, run for real")
def test_the_benchmark_prints_every_rung_and_every_operation(capsys):
    benchmark.main(**vars(benchmark.arguments(["--each", "0.001", "--n", "64"])))
    rungs, steps, rates, rows = capsys.readouterr().out.strip().split("\n\n")
    assert rungs.splitlines()[0].split()[:2] == ["4", "KiB"] and rungs.count("GB/s") == len(rungs.splitlines()) > 20
    assert steps.startswith("cpu; c += a") and rates.count("GFLOP/s") == 4 and "ridge" in rates
    assert rows.count("of the roof") == 24


def test_bars_are_as_long_as_their_bandwidth():
    rungs = (Rung(4 * KIB, 1.0, 100e9), Rung(MIB, 1.0, 25e9))
    assert [line.count("#") for line in benchmark.bars(Ladder("cpu", rungs, (), ())).splitlines()] == [40, 10]
