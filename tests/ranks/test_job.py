"""Who started this process, as its environment tells; and job() under an srun that is played by four processes."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import time
from pathlib import Path

import pytest
import warm

from helpers.ranks import Ranks
from helpers.ranks.machine.launched import Launched, first_host, launched, launcher, tasks_per_node
from helpers.ranks.worker import jobs

TORCHRUN = {
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "GROUP_WORLD_SIZE": "2",
    "MASTER_ADDR": "n1",
    "MASTER_PORT": "29500",
}
SRUN = {
    "SLURM_JOB_ID": "77",
    "SLURM_STEP_ID": "3",
    "SLURM_PROCID": "5",
    "SLURM_STEP_NUM_TASKS": "7",
    "SLURM_LOCALID": "1",
    "SLURM_STEP_TASKS_PER_NODE": "4,3",
    "SLURM_NODEID": "1",
    "SLURM_STEP_NODELIST": "gpu[07,09]",
}


def srun(rank: int, nranks: int, job: int, **more: str) -> dict[str, str]:
    """What srun tells rank of nranks on one node."""
    return SRUN | {
        "SLURM_JOB_ID": str(job),
        "SLURM_PROCID": str(rank),
        "SLURM_LOCALID": str(rank),
        "SLURM_STEP_NUM_TASKS": str(nranks),
        "SLURM_STEP_TASKS_PER_NODE": str(nranks),
        "SLURM_NODEID": "0",
        **more,
    }


def play(script: str, nranks: int, job: int, **more: str) -> list[tuple[int, str, str]]:
    """(exit code, stdout, stderr) of every process of a step that runs `script`, as lab.py."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Path(folder, "lab.py")
        lab.write_text(script)
        return warm.step(str(lab), tasks=[srun(rank, nranks, job, **more) for rank in range(nranks)])


def test_torchrun_is_read():
    assert launched(TORCHRUN) == Launched("torchrun", 5, 8, 1, 4, 2, "n1", 29500)
    assert launched(TORCHRUN | SRUN).by == "torchrun", "torchrun inside srun: torchrun's ranks are the ranks"
    by_hand = {name: value for name, value in TORCHRUN.items() if name != "GROUP_WORLD_SIZE"}
    assert launched(by_hand | {"WORLD_SIZE": "9"}).nnodes == 3
    assert str(launched(TORCHRUN)) == "rank 5 of 8, started by torchrun"


def test_srun_is_read():
    assert launched(SRUN) == Launched("srun", 5, 7, 1, 3, 2, "gpu07", 12000 + 77 * 16 + 3)
    assert launched(srun(0, 4, 77)).address == "127.0.0.1"
    chosen = launched(SRUN | {"MASTER_ADDR": "n9", "MASTER_PORT": "4000"})
    assert (chosen.address, chosen.port) == ("n9", 4000)
    without_step = {k: v for k, v in SRUN.items() if k != "SLURM_STEP_NODELIST"} | {"SLURM_JOB_NODELIST": "a3,b"}
    assert launched(without_step).address == "a3"


def test_ports_differ_between_jobs_and_between_steps():
    ports = {
        launched(SRUN | {"SLURM_JOB_ID": str(job), "SLURM_STEP_ID": str(step)}).port
        for job in range(1000, 1100)
        for step in range(16)
    }
    assert len(ports) == 1600 and min(ports) >= 12000 and max(ports) < 32768


def test_a_process_of_its_own_is_in_no_job():
    batch_script = {k: v for k, v in SRUN.items() if "STEP" not in k} | {"SLURM_NTASKS": "7"}
    assert launched({}) is launched(batch_script) is launched({"RANK": "0", "WORLD_SIZE": "4"}) is None
    assert [launcher(env) for env in ({}, batch_script, TORCHRUN, SRUN)] == ["", "", "", "srun"]
    assert launcher(TORCHRUN | {"TORCHELASTIC_RUN_ID": "none"}) == "torchrun"
    alone = {"SLURM_STEP_NUM_TASKS": "1", "WORLD_SIZE": "1", "TORCHELASTIC_RUN_ID": "none"}
    assert launcher(SRUN | alone) == "", "Jupyter started by srun -n 1 may start ranks"


@pytest.mark.parametrize(
    "nodes, first",
    [
        ("node7", "node7"),
        ("node[03-05,9],gpu1", "node03"),
        ("n[8,10-12]", "n8"),
        ("rack[1-2]n[08,11]-ib", "rack1n08-ib"),
        ("a.b-c,d", "a.b-c"),
        (" h1,h2 ", "h1"),
    ],
)
def test_the_first_host_of_a_compressed_list(nodes, first):
    assert first_host(nodes) == first


@pytest.mark.parametrize("nodes", ["", "n[", "n[1-2", "n[]", "[a]", "n 1", ",n1"])
def test_a_list_of_hosts_that_is_none(nodes):
    with pytest.raises(ValueError, match="a list of hosts looks like"):
        first_host(nodes)


def test_tasks_per_node():
    assert tasks_per_node("4(x2),3") == [4, 4, 3] and tasks_per_node("8") == [8]
    with pytest.raises(ValueError, match=r'tasks per node look like "4\(x2\),3", got .4x2'):
        tasks_per_node("4x2")


@pytest.mark.parametrize(
    "env, said",
    [
        (TORCHRUN | {"RANK": "two"}, "RANK is a whole number, got 'two'"),
        (
            {"RANK": "0", "MASTER_ADDR": "h", "WORLD_SIZE": "2"},
            "missing here: LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_PORT",
        ),
        ({"SLURM_PROCID": "0", "SLURM_STEP_ID": "0"}, "srun sets SLURM_PROCID, .*; missing here: SLURM_STEP_NUM_TASKS"),
        (SRUN | {"SLURM_NODEID": "2"}, "SLURM_NODEID=2 is not a node of SLURM_STEP_TASKS_PER_NODE='4,3'"),
        (
            {k: v for k, v in SRUN.items() if "LIST" not in k},
            "SLURM_STEP_NODELIST or SLURM_JOB_NODELIST; neither is set",
        ),
    ],
)
def test_an_environment_that_lacks_something_says_what(env, said):
    with pytest.raises(ValueError, match=said):
        launched(env)


A, B = ("gpu-a", "NVIDIA H200"), ("gpu-b", "NVIDIA H200")


@pytest.mark.parametrize(
    "gpus, chosen",
    [
        ([A, B], ("nccl", "2 ranks on 2 nodes, nccl, 2 x NVIDIA H200")),
        ([A, ("gpu-c", "NVIDIA L4")], ("nccl", "2 ranks on 2 nodes, nccl, 1 x NVIDIA H200, 1 x NVIDIA L4")),
        ([A, A], ("gloo", "2 ranks on 2 nodes, gloo, CPU")),
        ([A, None], ("gloo", "2 ranks on 2 nodes, gloo, CPU")),
    ],
)
def test_nccl_wants_a_gpu_of_its_own_for_every_rank_of_every_node(gpus, chosen):
    assert jobs.choose(gpus, Launched("srun", 0, 2, 0, 1, 2, "h", 1)) == chosen


def test_outside_a_job():
    with pytest.raises(RuntimeError, match=r"this process is in none .* or use Ranks\(\) in a notebook"), jobs.job():
        pass


def test_ranks_in_a_job_are_refused(monkeypatch):
    for name, value in SRUN.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(RuntimeError, match=r"srun has started this process as a rank: use `with job\(\) as j:`"):
        Ranks(2)


LAB = """
import os, torch, torch.distributed as dist
from helpers.collectives import CATALOGUE
from helpers.ranks import Ranks, bench, emit, execute, here, progress
from helpers.ranks import job
with job() as j:
    here.seen = [n for n in progress(range(3))]
    x = torch.full((4,), float(j.rank))
    ring = execute(CATALOGUE["all_reduce", "ring"](nranks=j.nranks), x)
    dist.all_reduce(x)
    try:
        Ranks(2)
    except RuntimeError as error:
        refused = "with job() as j" in str(error)
    timing = bench(dist.all_reduce, torch.zeros(8), reps=3)
    emit([str(j), j.backend, x.tolist() == ring.tolist() == [6.0] * 4, here.seen, refused, timing.reps, torch.get_num_threads(),
          os.environ["RANK"], os.environ["LOCAL_RANK"], os.environ["GLOO_SOCKET_IFNAME"]])
print(dist.is_initialized())
"""


def test_a_lab_runs_unchanged_under_srun():
    for rank, (code, out, err) in enumerate(play(LAB, 4, job=os.getpid())):
        assert code == 0, err[-2000:]
        said = ["4 ranks, gloo, CPU", "gloo", True, [0, 1, 2], True, 3, 1, str(rank), str(rank), "lo"]
        assert out == f"[rank {rank}] {said}\nFalse\n"


DIES = """
import os, signal, sys, time, torch, torch.distributed as dist
from helpers.ranks import job
with job(timeout=2) as j:
    dist.all_reduce(torch.ones(4))
    if j.rank == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    if j.rank == 1:
        time.sleep(1)
    dist.all_reduce(torch.ones(4))
"""


def test_when_rank_0_dies_with_the_store_the_others_say_so_and_end():
    began = time.monotonic()
    (code, *_), *others = play(DIES, 3, job=os.getpid() + 3)
    assert code == -signal.SIGKILL and time.monotonic() - began < 60
    for rank, (code, _, err) in enumerate(others, 1):
        assert code == 1
        report = err[err.index("hang report") :]
        assert f"rank {rank} lost a peer in all_reduce #2 of float32[4] at lab.py line 10 (a consequence)" in report
        assert "the job's store does not answer: rank 0 or the launcher is gone" in report


LISTENING = """
import os, psutil
from helpers.ranks import job
with job() as j:
    open_here = {c.laddr.ip for c in psutil.Process().net_connections("inet") if c.status == psutil.CONN_LISTEN}
    print(sorted(open_here), flush=True)
"""


def test_on_one_node_everything_listens_on_loopback_alone():
    said = play(LISTENING, 2, job=os.getpid() + 1)
    assert [code for code, *_ in said] == [0, 0], said
    assert {out.strip() for _, out, _ in said} == {"['127.0.0.1']"}


def test_a_taken_port_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ((code, _, err),) = play(
            "from helpers.ranks import job\nwith job(): pass", 1, 5, MASTER_PORT=str(taken.getsockname()[1])
        )
    assert code == 1 and "which this job's id gives, is taken" in err and "set MASTER_PORT to another" in err


def test_ranks_that_do_not_come_are_named(tmp_path):
    """Rank 1 of 2 comes, finds the others missing, and says so."""
    lab = tmp_path / "lab.py"
    lab.write_text("from helpers.ranks.worker import jobs\njobs.START_LIMIT = 1.0\nwith jobs.job(): pass")
    ((code, _, err),) = warm.step(str(lab), tasks=[srun(0, 3, os.getpid() + 2)])
    assert code == 1 and "TimeoutError: ranks that did not come within 1 s: [1, 2]" in err
