"""A kernel that is killed in every state, or restarted: nothing outlives it, and the next one works."""

from __future__ import annotations

import signal

import pytest
from busy import BUSY, ready
from kernels import HEALTHY, SUMS, Kernel, all_gone

GONE = 5 * 1.0  # seconds: five times the figure
STATES = [*BUSY, "idle"]
RESTARTED = ["in C++", "holding the GIL", "in collectives", "asleep"]  # a restart takes seconds


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


@pytest.mark.parametrize("state", STATES)
def test_nothing_outlives_a_kernel_that_is_shot(mortal, state):
    below = occupied(mortal, state)
    mortal.shoot(signal.SIGKILL)
    assert all_gone(below, GONE)
    mortal.restart()
    the_next_kernel_works(mortal)


@pytest.mark.parametrize("now", [True, False], ids=["at once", "politely"])
@pytest.mark.parametrize("state", RESTARTED)
def test_nothing_outlives_a_restart(mortal, state, now):
    below = occupied(mortal, state)
    mortal.restart(now=now)
    assert all_gone(below, GONE)
    the_next_kernel_works(mortal)
