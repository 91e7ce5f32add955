"""What every rank gets, keeps and loses: its own environment, its streams, the frames of its errors, and its end."""

from __future__ import annotations

import os
import sys
import warnings

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import RankError, Ranks, bench
from helpers.ranks.machine import devices, server, sharing
from helpers.ranks.machine.loopback import loopback
from helpers.ranks.pool import launch
from helpers.ranks.pool.launch import Team
from helpers.ranks.worker import inside, joining


def test_ranks_are_forked_from_a_clean_server_or_spawned_but_never_from_the_notebook():
    """So that CUDA, and OpenMP's threads, may be in use here."""
    assert server.context().get_start_method() in ("forkserver", "spawn")


@pytest.mark.parametrize(
    "version, wanted",
    [
        ((2, 29, 7), {"NCCL_HOSTID": "rank-1", "NCCL_NET": "Socket", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}),
        ((2, 30, 3), {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_NVLS_ENABLE": "0"}),
    ],
)
def test_every_rank_that_shares_a_gpu_has_settings_of_its_own(monkeypatch, version, wanted):
    monkeypatch.setattr(sharing, "nccl_version", lambda: version)
    monkeypatch.setenv("NCCL_NET", "IB")
    world = devices.World(2, "nccl", ("cuda:0",) * 2, "", shared=True, visible="GPU-7")
    team = Team(world, {"NCCL_MAX_CTAS": "8"}, 10.0)
    try:
        env = team._env_of(1)
    finally:
        team.kill()
    assert wanted.items() <= env.items()
    assert env["CUDA_VISIBLE_DEVICES"] == "GPU-7" and env["NCCL_SOCKET_IFNAME"] == loopback()
    assert env["NCCL_MAX_CTAS"] == "8", "what the caller asks for counts most"
    if version < (2, 30):
        assert sharing.settings(0, version)["NCCL_HOSTID"] != env["NCCL_HOSTID"]


def test_a_rank_alone_on_its_gpu_is_left_as_it_is(monkeypatch):
    assert devices.World(2, "nccl", ("cuda:0", "cuda:1"), "").env(0) == {}


def test_torchs_own_watchdog_is_never_first():
    for timeout in (1.0, 10.0, 3600.0):
        heartbeat = float(joining.nccl_settings(timeout, "/s")["TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"])
        assert heartbeat > joining.torch_timeout(timeout, watched=True) >= joining.torch_timeout(timeout) > timeout


def test_ranks_that_share_a_gpu_are_not_timed(two):
    def timed():
        inside.share(True)
        try:
            bench(int)
        finally:
            inside.share(False)

    with pytest.raises(RankError, match="these ranks share a GPU: their times mean nothing"):
        two.run(timed)


def test_a_rank_that_closes_its_streams_can_print_in_the_next_call(two, capsys):
    def close():
        print("last words")
        sys.stdout.close()
        sys.stderr = None

    pids = two.run(os.getpid)
    two.run(close)
    two.run(lambda: print("again"))
    assert two.run(os.getpid) == pids
    assert capsys.readouterr().out == "".join(f"[rank {r}] {w}\n" for w in ("last words", "again") for r in (0, 1))


def test_a_recursion_is_told_in_few_lines(two):
    def down(n):
        return up(n + 1)

    def up(n):
        return down(n + 1)

    def straight(n):
        return straight(n + 1)

    for fn, said in ((straight, "Previous line repeated"), (down, "frames left out")):
        with pytest.raises(RankError, match="RecursionError") as caught:
            two.run(fn, 0)
        assert said in str(caught.value) and len(str(caught.value).splitlines()) < 60


def test_a_process_that_cannot_be_killed_is_named_and_waited_for_no_longer(monkeypatch):
    """As when a driver holds it; here nobody tells it to end."""
    monkeypatch.setattr(launch, "PATIENCE", 0.1)
    ranks = Ranks(1, backend="gloo")
    ranks.run(int)
    process = ranks._team.members[0].process
    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        patch.setattr(type(process), "exitcode", None)
        pid = process.pid
        ranks.close()
    assert f"rank 0 (process {pid}) does not end" in str(caught[0].message)


@pytest.mark.parametrize("level", ["OFF", "INFO", "DETAIL"])
def test_a_rank_obeys_TORCH_DISTRIBUTED_DEBUG(level):
    with Ranks(2, backend="gloo", env={"TORCH_DISTRIBUTED_DEBUG": level}) as two:
        kinds = two.run(lambda: (dist.get_debug_level().name, type(dist.group.WORLD._get_backend(torch.device("cpu")))))
    assert [name for name, _ in kinds] == [level] * 2
    assert all((kind.__name__ == "_ProcessGroupWrapper") is (level == "DETAIL") for _, kind in kinds)


def test_a_level_that_torch_does_not_know_is_refused_in_its_words():
    refusal = pytest.raises(RankError, match="TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL")
    with Ranks(2, backend="gloo", env={"TORCH_DISTRIBUTED_DEBUG": "ALL"}) as two, refusal:
        two.run(print)
