"""The fake machine, and what our Python does on it: plans, devices, streams, graphs. What only a GPU can tell, its package says."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from fake_cuda import environment

NAME = "NVIDIA Fake"


@pytest.fixture(scope="module")
def found(root, tmp_path_factory):
    """What a process on a machine with two GPUs found, and the ranks that it started."""
    env = environment(2, tmp_path_factory.mktemp("processes"))
    command = [sys.executable, str(root / "tests" / "on_fake_gpus.py")]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# Four want more of its memory than is free
SHARES = ", shares a GPU: not timed"


@pytest.mark.parametrize(
    "gpus, labels",
    [
        ("0", ["4 ranks, gloo, CPU", "1 rank, gloo, CPU", "2 ranks, gloo, CPU", "8 ranks, gloo, CPU"]),
        ("1", ["4 ranks, gloo, CPU", f"1 rank, nccl, 1 x {NAME}", f"2 ranks, nccl, 1 x {NAME}{SHARES}"]),
        ("2", [f"2 ranks, nccl, 2 x {NAME}", f"1 rank, nccl, 1 x {NAME}", f"2 ranks, nccl, 2 x {NAME}"]),
        ("8", [f"8 ranks, nccl, 8 x {NAME}", f"1 rank, nccl, 1 x {NAME}", f"2 ranks, nccl, 2 x {NAME}"]),
    ],
)
def test_what_is_planned_on_so_many_gpus(found, gpus, labels):
    worlds = found["planned"][gpus]
    assert [worlds[n][0] for n in ("None", "1", "2", "8")[: len(labels)]] == labels
    assert worlds["8"] == ([f"8 ranks, nccl, 8 x {NAME}", "cuda:7"] if gpus == "8" else ["8 ranks, gloo, CPU", "cpu"])
    shares = SHARES if gpus == "1" else ""
    assert worlds.get("two by nccl") == (
        f"2 ranks, nccl, {min(2, int(gpus))} x {NAME}{shares}" if gpus != "0" else None
    )


def test_a_graph_holds_what_was_captured_on_the_second_gpu_too(found):
    assert found["graphed"] == [3, 3], "once at every replay"


def test_a_gpu_is_woken_before_it_is_timed(found):
    assert found["woken"] == [1024]


def test_a_clock_is_read_when_the_ball_has_come(found):
    assert found["in_ranks"]["pong"] == 1.0


def test_a_stamp_lies_on_the_hosts_clock_where_the_stream_was(found):
    first, second = found["stamped"]  # the two clocks are set to each other within some microseconds
    assert -0.01 < first <= second < 5


def test_copies_go_each_way_and_both_at_once_from_pinned_memory(found):
    ways = ["to the GPU", "to the host", "both at once"]
    assert found["copied"] == [[way, "pinned"] for way in ways] + [[way, "pageable"] for way in ways[:2]]


def test_a_call_is_timed_behind_something_that_runs(found):
    assert found["in_ranks"]["ahead"] == [True, True, True]


def test_a_call_is_given_away_before_it_is_done(found):
    row, alone, given = found["in_ranks"]["given_away"]
    assert 0 < given < row and given < alone


def test_a_reader_s_ping_pong_warns_of_nothing(found):
    assert found["in_ranks"]["said"] == ""


def test_a_data_loader_shuffles_where_the_gpu_is_the_default_device(found):
    assert found["in_ranks"]["shuffled"] == [0, 1, 2, 3]


def test_settings_of_cuda_and_of_its_allocator_reach_the_ranks(found):
    assert found["in_ranks"]["settings"] == ["PCI_BUS_ID", "expandable_segments:True"]


def test_the_fake_refuses_tensors_of_two_devices(found):
    assert found["mixed"] == (
        "Expected all tensors to be on the same device, but found at least two devices, cpu and cuda:0!"
    )


@pytest.mark.parametrize(
    "limit, told", [("None", [4, False, 44, 3, 0, 0]), ("34", [4, False, 32, 2, 1, 0]), ("30", [3, True, 24, 1, 1, 1])]
)
def test_a_trace_is_played_on_the_gpus_own_allocator(found, limit, told):
    """Events, out of memory, MiB reserved at most, segments, retries, ooms; free bytes and blocks are those of the model."""
    assert found["played"][limit] == [*told, True, True]


def test_a_trace_is_played_on_an_empty_allocator(found):
    assert found["played"]["refused"].startswith("a trace is played on an empty allocator, and 2.0 MiB are reserved")


def test_the_device_of_a_lab_is_the_gpu(found):
    assert found["played"]["device"] == f"measured here: {NAME}, 64 MiB of its memory free"
    assert found["played"]["names"] == ["ladder-gpu", False]


def test_a_step_on_a_gpu_tells_what_its_allocator_holds(found):
    assert found["profiled"] == {"samples": [True] * 3, "covers": [True] * 2, "gpu": NAME}
