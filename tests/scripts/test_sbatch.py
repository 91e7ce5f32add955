"""scripts/ranks.sbatch: its options, its syntax, and its payload for real, with an srun that starts its tasks on this machine."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from torch.distributed.run import parse_args

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts/ranks.sbatch"
TEXT = SCRIPT.read_text()

# Every task gets what srun gives it; the nodes are all this machine. An option that is not known here is an error.
# A task that is a Python is a fork of one that has torch; torchrun and its ranks are started for real.
SRUN = """
import os, re, subprocess, sys
options, command = {}, sys.argv[1:]
while command[0].startswith("--"):
    name, _, value = command.pop(0).partition("=")
    options[name] = int(value)
assert options.keys() == {"--nodes", "--ntasks", "--ntasks-per-node", "--cpus-per-task", "--kill-on-bad-exit"}, options
nodes, per_node = options["--nodes"], options["--ntasks-per-node"]
assert options["--ntasks"] == nodes * per_node
shared = {
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NUM_TASKS": str(nodes * per_node),
    "SLURM_NTASKS": str(nodes * per_node),
    "SLURM_STEP_TASKS_PER_NODE": f"{per_node}(x{nodes})" if nodes > 1 else str(per_node),
    "SLURM_STEP_NODELIST": os.environ["SLURM_JOB_NODELIST"],
    "SLURM_CPUS_PER_TASK": str(options["--cpus-per-task"]),
}
ranks = [
    shared | {"SLURM_PROCID": str(rank), "SLURM_NODEID": str(rank // per_node), "SLURM_LOCALID": str(rank % per_node)}
    for rank in range(nodes * per_node)
]
if command[0] == sys.executable:
    sys.path.insert(0, TESTS)
    import warm_server
    pids = [warm_server.fork(warm_server.task, command[1:], rank) for rank in ranks]
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids))
tasks = [subprocess.Popen(command, env=os.environ | rank) for rank in ranks]
sys.exit(max(abs(task.wait()) for task in tasks))
"""
START = """#!/bin/sh
exec '{python}' '{program}' "$@"
"""
SCONTROL = """#!/bin/sh
[ "$1 $2" = "show hostnames" ] && echo "$3" | tr , '\\n'
"""


@pytest.fixture
def cluster(tmp_path):
    """A PATH on which srun and scontrol stand. A first line with #! could hold no path with a space."""
    program = tmp_path / "srun.py"
    program.write_text(f"TESTS = {str(ROOT / 'tests')!r}\n{SRUN}")
    start = START.format(python=sys.executable, program=program)
    for name, text in (("srun", start), ("scontrol", SCONTROL)):
        path = tmp_path / name
        path.write_text(text)
        path.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def submit(path: str, *arguments: str, nodes: int = 1, ranks: int = 2, **env: str) -> tuple[int, str, str]:
    """Run the script as Slurm's batch step would; nothing of it is left afterwards."""
    clean = {k: v for k, v in os.environ.items() if not re.match("SLURM_|RANK|WORLD_|LOCAL_|MASTER_|TORCHELASTIC", k)}
    batch = {
        "PATH": path,
        "PYTHON": sys.executable,
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_JOB_NUM_NODES": str(nodes),
        "SLURM_JOB_NODELIST": ",".join(["localhost"] * nodes),
        "SLURM_NTASKS_PER_NODE": str(ranks),
        "SLURM_CPUS_PER_TASK": "2",
        "SLURM_PROCID": "0",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    started = subprocess.Popen(
        ["bash", str(SCRIPT), *arguments],
        cwd=ROOT,
        env=clean | batch | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = started.communicate(timeout=100)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
    return started.returncode, out, err


def test_bash_understands_it():
    assert subprocess.run(["bash", "-n", str(SCRIPT)], check=False).returncode == 0
    assert TEXT.startswith("#!/bin/bash\n")


def test_its_options_are_slurms_and_stand_before_the_first_command():
    """sbatch stops reading options at the first line that is neither empty nor a comment."""
    before, _, after = TEXT.partition("set -euo pipefail")
    options = re.findall(r"^#SBATCH --([a-z-]+)=(\S+)", before, re.M)
    assert dict(options).keys() == {"job-name", "nodes", "ntasks-per-node", "cpus-per-task", "time", "output"}
    assert "#SBATCH" not in after and all(line.startswith("#") for line in before.splitlines() if line)


REAL = pytest.mark.matrix("torchrun on one and on two nodes for real; tests/ranks/ starts it with the same options")
OTHER = pytest.mark.matrix("another number of nodes")


@pytest.mark.parametrize(
    ("launch", "nodes"),
    [
        pytest.param("torchrun", 1, marks=REAL),
        pytest.param("torchrun", 2, marks=REAL),
        pytest.param("srun", 1, marks=OTHER),
        ("srun", 2),
    ],
)
def test_the_primitives_run_on_one_and_on_two_nodes(cluster, launch, nodes):
    code, out, err = submit(cluster, nodes=nodes, LAUNCH=launch)
    assert code == 0, err[-3000:]
    ranks = 2 * nodes
    assert out.startswith(f"{ranks} ranks{' on 2 nodes' * (nodes == 2)}, gloo, CPU\n\nall_reduce ")
    total = sum(10 * rank for rank in range(ranks))
    assert len(re.findall(rf"^  rank \d  \[.*\]  ->  \[{total} ", out, re.M)) == ranks + 1, (
        "all_reduce, and reduce's root"
    )
    assert "WRONG" not in out


def test_torchrun_is_told_the_nodes_the_ranks_and_where_they_meet(cluster, tmp_path):
    """A Python that says with which words it was started, and torchrun's own reading of them."""
    says = tmp_path / "says"
    says.write_text('#!/bin/sh\necho "$SLURM_NODEID:$*"\n')
    says.chmod(0o755)
    code, out, err = submit(cluster, "-m", "helpers.ranks", "bench", nodes=2, ranks=3, PYTHON=str(says))
    assert code == 0, err[-3000:]
    for node, line in enumerate(sorted(out.splitlines())):
        words = line.removeprefix(f"{node}:-m torch.distributed.run ").split()
        asked = parse_args(words)
        assert (asked.nnodes, asked.node_rank, asked.nproc_per_node) == ("2", node, "3")
        assert (asked.master_addr, asked.master_port) == ("localhost", 12000 + os.getpid() % 20000)
        assert (asked.module, asked.training_script, asked.training_script_args) == (True, "helpers.ranks", ["bench"])
    assert node == 1


@pytest.mark.matrix("more of a batch job on played nodes")
def test_what_stands_behind_it_is_run(cluster):
    code, out, err = submit(cluster, "-m", "helpers.ranks", "bench", "-e", "1K", LAUNCH="srun")
    assert code == 0, err[-3000:]
    assert [line.split()[0] for line in out.splitlines() if line[0] != "#"] == ["1024"]


@pytest.mark.matrix("more of a batch job on played nodes")
def test_a_failure_is_the_jobs_exit_code(cluster):
    code, _, err = submit(cluster, "-m", "helpers.ranks", "-r", "7", LAUNCH="srun")
    assert code == 2 and "the root is a rank in 0..1, got 7" in err
    assert submit(cluster, LAUNCH="mpirun")[::2] == (2, "LAUNCH is torchrun or srun, got mpirun\n")
