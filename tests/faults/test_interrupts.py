"""The stop button in every state: the cell ends with KeyboardInterrupt, no rank outlives it, the next call works."""

from __future__ import annotations

import time
from textwrap import indent

import pytest
from busy import BUSY, ready
from kernels import HEALTHY, SUMS, Kernel, alive, all_gone
from lanes import some

pytestmark = pytest.mark.faults

MOMENT = "interrupts at other moments"
IDLE = 5 * 2.0  # seconds until the cell is idle and its ranks are gone: five times the figure
START = "r.close(); r = Ranks(4, backend='gloo', timeout=2.0); n = len(r.run(os.getpid))"
COLD = "from multiprocessing import forkserver; r.close(); forkserver._forkserver._stop()"  # the next launch starts it anew
KERNELS_OWN = "[IPKernelApp]"  # its greeting; and that an interrupt came when no cell was running


@pytest.fixture(scope="module")
def before(kernel) -> dict[str, int]:
    return kernel.settle()


def the_kernel_goes_on(kernel: Kernel, before: dict[str, int]) -> None:
    """The same kernel computes, with four ranks and nothing else; no word of the library's, or of Python's, was in its terminal."""
    assert kernel.run(HEALTHY).text == SUMS
    assert sorted(kernel.workers()) == sorted(kernel.pids())
    assert kernel.more_than(before) == {}
    assert [line for line in kernel.terminal.read_text().splitlines() if KERNELS_OWN not in line] == []


@pytest.mark.parametrize("state", some(BUSY, [*BUSY][::3], "interrupts in more states"))
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


def interrupted(kernel: Kernel, code: str, seconds: float, times: int = 1) -> bool:
    """Interrupt a cell so long after its start, and again at once; was it still busy? It prints nothing of the failure.

    Only inside `code`: a kernel that has never heard of us prints a word in place of its error, or hangs for good, when more
    interrupts come while it draws the first one.
    """
    landing = f"landing = Landing()\nprint('here', flush=True)\nwith landing:\n    {code}\nprint(n)"
    cell = kernel.start(landing, lambda text: "here" in text)
    time.sleep(seconds)
    for _ in range(times):
        kernel.interrupt()
    start = time.monotonic()
    cell.end()
    assert time.monotonic() - start < IDLE
    assert (cell.error[:17], cell.text) in (("KeyboardInterrupt", "here\n"), ("", "here\n4\n")), cell.text
    return bool(cell.error)


@pytest.mark.parametrize("times", some([1, 2], [1], MOMENT), ids=["once", "twice"])
def test_an_interrupt_while_warm_ranks_start(kernel, before, times):
    """20 launches, each interrupted a little later than the one before."""
    hits = 0
    for milliseconds in range(0, 80, 4):
        hits += interrupted(kernel, START, milliseconds / 1000, times)
        kernel.run("r.close()")
        assert all_gone(kernel.workers(), IDLE), f"a rank that nobody holds, {milliseconds} ms after the start"
    assert hits > 5, "launches that were still under way"
    kernel.run(START)
    the_kernel_goes_on(kernel, before)


@pytest.mark.parametrize("seconds", some([0.0, 0.02, 0.2, 0.8, 1.6], [0.2], MOMENT))
def test_an_interrupt_while_the_fork_server_starts(kernel, before, seconds):
    """The cell is idle although the server goes on importing torch; a rank that it makes after all is ended at once."""
    assert not kernel.run(COLD).error
    interrupted(kernel, START, seconds)
    kernel.run(START)
    the_kernel_goes_on(kernel, before)


@pytest.mark.parametrize("apart", some([0.0, 0.01, 0.1], [0.01], MOMENT), ids=lambda s: f"{s:g} s apart")
@pytest.mark.parametrize(
    "state", some(["in C++", "holding the GIL", "reading results"], ["holding the GIL"], "interrupts in more states")
)
def test_an_impatient_reader_presses_many_times(kernel, before, state, apart):
    pids = kernel.pids()
    cell = kernel.start(f"with Landing():\n{indent(BUSY[state], '    ')}", ready)
    for _ in range(2 if apart else 20):
        kernel.interrupt()
        time.sleep(apart)
    assert cell.end().error.startswith("KeyboardInterrupt")
    assert not any(map(alive, pids))
    the_kernel_goes_on(kernel, before)
