"""Ranks in a real Jupyter kernel: functions born in a cell, errors that show its lines, interrupts, and a kernel that is shot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import psutil
import pytest
from jupyter_client.manager import start_new_kernel

SETUP = """
import os, time, torch, torch.distributed as dist
from helpers.ranks import Ranks, RankError, emit, here
def say(rank, what): print(what, flush=True)
r = Ranks(4, backend="gloo", timeout=60)
print(*r.run(os.getpid))
"""
HEALTHY = """
def healthy():
    x = torch.ones(4)
    dist.all_reduce(x)
    return x.sum().item()
print(r.run(healthy))
"""
# What all four ranks are doing when the interrupt or the shot comes.
BUSY = {
    "in C++": "dist.recv(torch.ones(4), (dist.get_rank() + 1) % 4)",
    "holding the GIL": "sum(range(10**12))",
    "in Python": "while True: pass",
    "in collectives": "while True: dist.all_reduce(torch.ones(4))",
    "asleep": "time.sleep(600)",
}


def busy_cell(state: str) -> str:
    return f"def f():\n    emit('ready')\n    {BUSY[state]}\nr.run(f, on_emit=say)"


class Kernel:
    """A kernel, its cells, and the processes under it."""

    def __init__(self):
        self.manager, self.client = start_new_kernel(kernel_name="python3")
        self.pid = self.manager.provisioner.process.pid

    def start(self, code: str, until: Callable[[str], bool] = lambda text: True) -> Cell:
        """Begin a cell and return once its output satisfies `until`."""
        cell = Cell(self.client, self.client.execute(code))
        while not until(cell.text):
            cell.read()
        return cell

    def run(self, code: str) -> Cell:
        return self.start(code).end()

    def below(self) -> list[psutil.Process]:
        return psutil.Process(self.pid).children(recursive=True)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


class Cell:
    """The output of a running cell."""

    def __init__(self, client, message: str):
        self.client, self.message = client, message
        self.text = self.error = ""
        self.shown: list[str] = []  # an error as the notebook draws it
        self.busy = True

    def read(self) -> None:
        got = self.client.get_iopub_msg(timeout=60)
        if got["parent_header"].get("msg_id") != self.message:
            return
        content = got["content"]
        self.text += content.get("text", "") if got["msg_type"] == "stream" else ""
        if got["msg_type"] == "error":
            self.error = f"{content['ename']}: {content['evalue']}"
            self.shown = content["traceback"]
        self.busy = content.get("execution_state") != "idle"

    def end(self) -> Cell:
        while self.busy:
            self.read()
        return self


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    made = Kernel()
    cell = made.run(SETUP)
    assert not cell.error, cell.error
    yield made
    made.close()


@pytest.fixture
def doomed() -> Iterator[Kernel]:
    made = Kernel()
    yield made
    made.close()


def four_ready(text: str) -> bool:
    return text.count("ready") == 4


def test_a_function_of_the_cell_runs_and_its_output_is_in_order(kernel):
    cell = kernel.run("def f(k): print('hi'); return dist.get_rank() * k\nprint(r.run(f, 10))")
    assert (cell.error, cell.text) == ("", "[rank 0] hi\n[rank 1] hi\n[rank 2] hi\n[rank 3] hi\n[0, 10, 20, 30]\n")


def test_an_error_shows_the_cells_own_lines_and_no_path(kernel):
    cell = kernel.run(
        "def f():\n    x = torch.ones(4)\n    if dist.get_rank() == 1:\n        raise ValueError('boom')\n    dist.all_reduce(x)\nr.run(f)"
    )
    assert cell.error == (
        "RankError: rank 1 raised ValueError: boom\n"
        '  File "cell", line 4, in f\n'
        "    raise ValueError('boom')\n"
        "ranks 0, 2, 3: waiting in all_reduce #1 of float32[4] at cell line 5"
    )
    assert kernel.run(HEALTHY).text == "[16.0, 16.0, 16.0, 16.0]\n"


def test_a_rank_that_reads_its_own_source_finds_the_cell(kernel):
    cell = kernel.run(
        "import inspect\ndef f(): return inspect.getsource(f)  # only here\nprint(all('only here' in s for s in r.run(f)))"
    )
    assert (cell.error, cell.text) == ("", "True\n")


def test_a_class_of_the_notebook_keeps_its_identity(kernel):
    cell = kernel.run("class A: pass\nprint([isinstance(a, A) for a in r.run(lambda: A())])")
    assert cell.text == "[True, True, True, True]\n"


def test_here_stays_from_cell_to_cell(kernel):
    kernel.run("def build(): here.model = torch.nn.Linear(2, 2)\nr.run(build)")
    cell = kernel.run("def use(): return here.model.weight.numel()\nprint(r.run(use))")
    assert cell.text == "[4, 4, 4, 4]\n"


@pytest.mark.parametrize("state", BUSY)
def test_an_interrupt_ends_the_cell_and_every_rank(kernel, state):
    pids = [int(pid) for pid in kernel.run("print(*r.run(os.getpid))").text.split()]
    cell = kernel.start(busy_cell(state), four_ready)
    start = time.monotonic()
    kernel.manager.interrupt_kernel()
    cell.end()
    assert cell.error.startswith("KeyboardInterrupt") and time.monotonic() - start < 10
    assert not any(map(psutil.pid_exists, pids))
    assert kernel.run(HEALTHY).text == "[16.0, 16.0, 16.0, 16.0]\n"


def test_an_interrupt_of_an_idle_kernel_leaves_the_ranks_alone(kernel):
    pids = kernel.run("print(*r.run(os.getpid))").text
    kernel.manager.interrupt_kernel()
    time.sleep(0.2)
    assert kernel.run("print(*r.run(os.getpid))").text == pids


def test_no_interrupt_reaches_the_forkserver_or_a_rank(kernel):
    """Jupyter interrupts the whole process group, and a forkserver that is still importing would die of it."""
    cell = kernel.run(
        "def masks(pid):\n"
        "    lines = open(f'/proc/{pid}/status').read().splitlines()\n"
        "    return [int(line.split()[1], 16) >> 1 & 1 for line in lines if line[:6] in ('SigBlk', 'SigIgn')]\n"
        "print(r.run(lambda: (masks(os.getppid()), masks(os.getpid())))[0])"
    )
    assert cell.text == "([1, 1], [0, 1])\n", "blocked and ignored in the server, ignored in a rank"


@pytest.mark.parametrize("seconds", [0.0, 0.3, 0.9])
def test_an_interrupt_while_ranks_start_leaves_none_behind(doomed, seconds):
    doomed.run("import os, torch\nfrom helpers.ranks import Ranks")
    cell = doomed.start("print('ready')\nr = Ranks(4, backend='gloo'); r.run(os.getpid)", lambda text: "ready" in text)
    time.sleep(seconds)
    doomed.manager.interrupt_kernel()
    assert cell.end().error.startswith("KeyboardInterrupt")
    cell = doomed.run("r = Ranks(4, backend='gloo'); print(len(r.run(os.getpid))); r.close()")
    assert (cell.error, cell.text) == ("", "4\n")
    ranks = [p for p in doomed.below() if p.ppid() != doomed.pid]
    assert psutil.wait_procs(ranks, timeout=5)[1] == [], "the forkserver has no child left"


@pytest.mark.parametrize("state", ["in C++", "holding the GIL", None])
def test_nothing_outlives_a_kernel_that_is_shot(doomed, state):
    doomed.run(SETUP)
    if state:
        doomed.start(busy_cell(state), four_ready)
    below = doomed.below()
    assert len(below) >= 5, "the forkserver and four ranks"
    psutil.Process(doomed.pid).kill()
    assert psutil.wait_procs(below, timeout=5)[1] == []


def test_nothing_outlives_a_restart(doomed):
    doomed.run(SETUP)
    doomed.start(busy_cell("in C++"), four_ready)
    below = doomed.below()
    doomed.manager.restart_kernel(now=True)
    assert psutil.wait_procs(below, timeout=5)[1] == []


def test_the_notebook_shows_the_message_and_not_the_way_through_the_library(kernel):
    kernel.run("def f(): raise ValueError('boom')")
    cell = kernel.run("r.run(f)")
    assert cell.shown == [cell.error, "(everything the ranks said and did: print(ranks.details()))"]
    details = kernel.run("print(r.details())").text
    assert "Traceback (most recent call last)" in details and details.count("raised ValueError: boom") == 5
