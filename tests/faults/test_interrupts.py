"""The stop button in every state: the cell ends with KeyboardInterrupt, no rank outlives it, the next call works."""

from __future__ import annotations

import time

import pytest
from busy import BUSY, ready
from kernels import HEALTHY, SUMS, Kernel, alive, all_gone

IDLE = 5 * 2.0  # seconds until the cell is idle and its ranks are gone: five times the figure
START = "r = Ranks(4, backend='gloo'); print(len(r.run(os.getpid)))"


@pytest.fixture(scope="module")
def before(kernel) -> dict[str, int]:
    return kernel.settle()


def the_kernel_goes_on(kernel: Kernel, before: dict[str, int]) -> None:
    """The same kernel computes, with four ranks and nothing else."""
    assert kernel.run(HEALTHY).text == SUMS
    assert sorted(kernel.workers()) == sorted(kernel.pids())
    assert kernel.more_than(before) == {}


@pytest.mark.parametrize("state", BUSY)
def test_an_interrupt_ends_the_cell_and_every_rank(kernel, before, state):
    pids = kernel.pids()
    cell = kernel.start(BUSY[state], ready)
    start = kernel.interrupt()
    assert cell.end().error.startswith("KeyboardInterrupt")
    assert time.monotonic() - start < IDLE
    untouched = state == "packing an argument"  # nothing had been sent
    assert [alive(pid) for pid in pids] == [untouched] * 4, "at once: the cell is idle only when they are gone"
    the_kernel_goes_on(kernel, before)


def test_an_interrupt_of_an_idle_kernel_leaves_the_ranks_alone(kernel, before):
    pids = kernel.pids()
    kernel.interrupt()
    assert kernel.pids() == pids
    the_kernel_goes_on(kernel, before)


@pytest.mark.parametrize("seconds", [0.0, 0.3, 0.9])
def test_an_interrupt_while_the_first_ranks_start_leaves_none_behind(new_kernel, seconds):
    kernel = new_kernel(ranks=False)
    cell = kernel.start("print('here', flush=True)\n" + START, lambda text: "here" in text)
    time.sleep(seconds)
    kernel.interrupt()
    assert cell.end().error.startswith("KeyboardInterrupt")
    cell = kernel.run(START + "; r.close()")
    assert (cell.error, cell.text) == ("", "4\n")
    assert all_gone(kernel.workers(), IDLE)
