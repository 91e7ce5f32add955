"""A kernel that is killed, crashes, is restarted or told to end, in every state: nothing outlives it, and the next one works."""

from __future__ import annotations

import os
import shutil
import signal
import time

import psutil
import pytest
from busy import BUSY, SEVERAL, ready
from jupyter_client.manager import start_new_kernel
from kernels import HEALTHY, PATIENCE, SUMS, Kernel, all_gone
from lanes import some

pytestmark = pytest.mark.faults

GONE = 5 * 1.0  # seconds: five times the figure
FOUR_POOLS = "idle, in C++, holding the GIL and without their pipes"  # each is held in its own way
STATES = [*BUSY, "idle", FOUR_POOLS]
STATE, MOMENT = "a kernel's end in another state", "a kernel's end at another moment"
RESTARTED = ["in C++", "holding the GIL", "in Python", "idle", FOUR_POOLS]  # a restart takes seconds
STARTING = (
    "from multiprocessing import forkserver; r.close(); forkserver._forkserver._stop()\n"
    "print('here', flush=True); r = Ranks(4, backend='gloo')"
)
SUICIDES = {  # cells that take the kernel with them
    "an argument that crashes when sent": "class A: __reduce__ = lambda self: ctypes.string_at(0)\nr.run(print, A())",
    "a result that crashes when read": "class A: __reduce__ = lambda self: (ctypes.string_at, (0,))\nr.run(lambda: A())",
    "emitted, and crashes when read": "class A: __reduce__ = lambda self: (ctypes.string_at, (0,))\n"
    "r.run(lambda: emit(A()), on_emit=say)",
    "os._exit(0) in a callback": "r.run(lambda: emit(1), on_emit=lambda rank, what: os._exit(0))",
}


@pytest.fixture(scope="module")
def mortal(tmp_path_factory):
    """One notebook for the whole module: every test ends its kernel and starts the next."""
    made = Kernel(tmp_path_factory.mktemp("mortal"))
    yield made
    made.close()


def occupied(kernel: Kernel, state: str) -> list[int]:
    """Bring the kernel into the state; the pids of everything under it."""
    if several := state == FOUR_POOLS:
        assert not kernel.run(SEVERAL).error
        state = "without their pipes"
    if state != "idle":
        kernel.start(BUSY[state], ready)
    below = [process.pid for process in kernel.below()]
    assert len(below) >= 6 + 6 * several, "the fork server, the resource tracker and all ranks"
    return below


def starting(kernel: Kernel, seconds: float) -> list[int]:
    """A launch from nothing is under way for so long; the pids of everything under the kernel."""
    kernel.start(STARTING, lambda text: "here" in text)
    time.sleep(seconds)
    return [process.pid for process in kernel.below()]


def nothing_is_left(kernel: Kernel, below: list[int], seconds: float = GONE) -> None:
    """No process, and no file: what the kernel had no time to remove, its fork server did."""
    assert all_gone(below, seconds)
    assert list(kernel.scratch.iterdir()) == []


def the_next_kernel_works(kernel: Kernel) -> None:
    kernel.set_up()
    assert kernel.run(HEALTHY).text == SUMS
    assert len(kernel.workers()) == 4


@pytest.mark.parametrize("state", some(STATES, [FOUR_POOLS], STATE))
def test_nothing_outlives_a_kernel_that_is_shot(mortal, state):
    below = occupied(mortal, state)
    mortal.shoot(signal.SIGKILL)
    nothing_is_left(mortal, below)
    mortal.restart()
    the_next_kernel_works(mortal)


@pytest.mark.parametrize(
    "signum",
    some([signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], [signal.SIGTERM], "a kernel's end by another signal"),
    ids=lambda s: s.name,
)
def test_nothing_outlives_a_kernel_that_is_told_to_end(mortal, signum):
    below = occupied(mortal, "in C++")
    mortal.shoot(signum)
    nothing_is_left(mortal, below)
    mortal.restart()
    the_next_kernel_works(mortal)


@pytest.mark.parametrize("how", some(SUICIDES, [*SUICIDES][::3], STATE))
def test_nothing_outlives_a_kernel_that_crashes(mortal, how):
    below = occupied(mortal, "idle")
    mortal.client.execute(SUICIDES[how])
    psutil.Process(mortal.pid).wait(PATIENCE)
    nothing_is_left(mortal, below)
    mortal.restart()
    the_next_kernel_works(mortal)


@pytest.mark.parametrize("seconds", some([0.0, 0.2, 0.9, 1.8], [0.2], MOMENT))
def test_nothing_outlives_a_kernel_that_is_shot_while_its_ranks_start(mortal, seconds):
    """There is no fork server yet, it imports torch, or it has begun to fork."""
    below = starting(mortal, seconds)
    workers = mortal.workers()
    mortal.shoot(signal.SIGKILL)
    assert all_gone(workers, GONE)
    if len(below) > 1:  # not only the resource tracker: a fork server, which hears of it when it has imported torch
        nothing_is_left(mortal, below, PATIENCE)
    for folder in mortal.scratch.iterdir():
        shutil.rmtree(folder)
    mortal.restart()
    the_next_kernel_works(mortal)


@pytest.mark.parametrize("state", some(RESTARTED, [FOUR_POOLS], STATE))
def test_nothing_outlives_a_restart(mortal, state):
    below = occupied(mortal, state)
    mortal.restart(now=True)
    assert all_gone(below, GONE)
    the_next_kernel_works(mortal)


@pytest.mark.matrix("kernels shot in more states")
def test_nothing_outlives_a_restart_while_the_ranks_start(mortal):
    below = starting(mortal, 0.5)
    mortal.restart(now=True)
    assert all_gone(below, GONE)
    the_next_kernel_works(mortal)


@pytest.mark.parametrize("state", some(["in C++", "idle"], ["in C++"], STATE))
def test_nothing_outlives_a_polite_restart(mortal, state):
    """The kernel is asked to end by itself first, which one that is busy does not hear."""
    below = occupied(mortal, state)
    mortal.restart(now=False)
    assert all_gone(below, GONE)
    the_next_kernel_works(mortal)


def test_a_kernel_that_is_asked_to_end_does_so_by_itself_and_leaves_no_file(tmp_path):
    """It ends what is in its process group first, by signals; Jupyter shoots it when that takes more than 2.5 s."""
    manager, client = start_new_kernel(kernel_name="python3", env=os.environ | {"TMPDIR": str(tmp_path)})
    try:
        told = client.execute_interactive(
            "import os; from helpers.ranks import Ranks; r = Ranks(2, backend='gloo'); r.run(os.getpid)",
            timeout=PATIENCE,
            output_hook=lambda _: None,
        )
        assert told["content"]["status"] == "ok"
        kernel = psutil.Process(manager.provisioner.process.pid)
        groups = {os.getpgid(child.pid) for child in kernel.children(recursive=True)}
        below = [child.pid for child in kernel.children(recursive=True)]
        assert len(below) == 4 and os.getpgid(kernel.pid) not in groups
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=False)
    assert all_gone(below, GONE)
    assert list(tmp_path.iterdir()) == []
