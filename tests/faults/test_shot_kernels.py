"""A kernel that is killed, crashes, is restarted or told to end, in every state: nothing outlives it, and the next one works."""

from __future__ import annotations

import signal
import time

import psutil
import pytest
from busy import BUSY, ready
from kernels import HEALTHY, SUMS, Kernel, all_gone

GONE = 5 * 1.0  # seconds: five times the figure
STATES = [*BUSY, "idle"]
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
    if state != "idle":
        kernel.start(BUSY[state], ready)
    below = [process.pid for process in kernel.below()]
    assert len(below) >= 5, "the forkserver and four ranks"
    return below


def the_next_kernel_works(kernel: Kernel) -> None:
    kernel.set_up()
    assert kernel.run(HEALTHY).text == SUMS
    assert len(kernel.workers()) == 4
    assert len(list(kernel.scratch.glob("bytes-in-motion-*"))) <= 2, (
        "what a shot kernel could not remove is swept later"
    )


@pytest.mark.parametrize("state", STATES)
def test_nothing_outlives_a_kernel_that_is_shot(mortal, state):
    below = occupied(mortal, state)
    mortal.shoot(signal.SIGKILL)
    assert all_gone(below, GONE)
    mortal.restart()
    the_next_kernel_works(mortal)


@pytest.mark.parametrize("now", [True, False], ids=["at once", "politely"])
@pytest.mark.parametrize("state", STATES)
def test_nothing_outlives_a_restart(mortal, state, now):
    below = occupied(mortal, state)
    mortal.restart(now=now)
    assert all_gone(below, GONE)
    the_next_kernel_works(mortal)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], ids=lambda s: s.name)
def test_nothing_outlives_a_kernel_that_is_told_to_end(mortal, signum):
    below = occupied(mortal, "in C++")
    mortal.shoot(signum)
    assert all_gone(below, GONE)
    mortal.restart()
    the_next_kernel_works(mortal)


@pytest.mark.parametrize("how", SUICIDES)
def test_nothing_outlives_a_kernel_that_crashes(mortal, how):
    below = occupied(mortal, "idle")
    mortal.client.execute(SUICIDES[how])
    psutil.Process(mortal.pid).wait(60)
    assert all_gone(below, GONE)
    mortal.restart()
    the_next_kernel_works(mortal)


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.3, 0.9])
def test_nothing_outlives_a_kernel_that_is_shot_while_its_ranks_start(mortal, seconds):
    mortal.run("from multiprocessing import forkserver; r.close(); forkserver._forkserver._stop()")
    mortal.start("print('here', flush=True); r = Ranks(4, backend='gloo')", lambda text: "here" in text)
    time.sleep(seconds)
    below = [process.pid for process in mortal.below()]
    mortal.shoot(signal.SIGKILL)
    assert all_gone(below, GONE)
    mortal.restart()
    the_next_kernel_works(mortal)
