"""Every row of the fault matrix in one notebook, one after the other: the error is right, nothing is left, the next call works."""

from __future__ import annotations

import re
import time

import pytest
from kernels import HEALTHY, SUMS, Kernel, alive
from lanes import some
from pickles import LARGE, ON_THEIR_WAY, PICKLED
from scenarios import DIED, RAISED, STUCK_OR_DIFFERENT, Scenario
from vandals import VANDALS

pytestmark = pytest.mark.faults

MATRIX = [*RAISED, *DIED, *STUCK_OR_DIFFERENT, *PICKLED, *LARGE, *VANDALS]
# Of what an A may do to whoever pickles it, every way on one path; the other paths show that they are paths.
AGAIN = ("a result that exits when sent", "a result that crashes when sent", "something emitted that exits when sent")
AGAIN += (
    "something emitted that dies when sent",
    "something emitted that crashes when sent",
    "something emitted that exits when read",
)
# And of what is done on the way, and by vandals, every third: the others, and those ways, are for `make test-all`.
ON_THE_WAY = [scenario for scenario in (*PICKLED, *LARGE, *VANDALS) if scenario.name not in AGAIN]
KEPT = [*RAISED, *DIED, *STUCK_OR_DIFFERENT, *ON_THE_WAY[::3]]
RELAUNCH = 5 * 0.5  # seconds on top of a normal launch: five times the figure
_RANKS = r"ranks? (\d[\d, -]*?)"
_STATE = re.compile(
    rf"(?:RankError: )?{_RANKS}:? (raised|died|exited|waiting|lost|running|finished|taking|sending|stopped by a signal$)"
)


@pytest.fixture(scope="module")
def before(kernel) -> dict[str, int]:
    return kernel.settle()


@pytest.fixture(scope="module")
def normal(kernel) -> float:
    """Seconds from a fresh `Ranks(4)` to its first sums in a kernel whose forkserver is warm."""
    start = time.monotonic()
    cell = kernel.run("r.close(); r = Ranks(4, backend='gloo', timeout=2.0); " + HEALTHY)
    assert cell.text == SUMS
    return time.monotonic() - start


@pytest.mark.parametrize("scenario", some(MATRIX, KEPT, "another way to fail on the way"), ids=[s.name for s in MATRIX])
def test_the_fault_is_told_and_the_same_kernel_goes_on(kernel: Kernel, before, normal, scenario: Scenario):
    pids = kernel.pids()
    cell = kernel.run(scenario.cell)
    same(cell.error, scenario.says)
    assert cell.text.endswith(scenario.prints)
    start = time.monotonic()
    assert kernel.run(HEALTHY).text == SUMS
    assert time.monotonic() - start < normal + RELAUNCH
    assert (kernel.pids() == pids) is scenario.warm
    assert scenario.warm or not any(map(alive, pids))
    assert kernel.more_than(before) == {}


def same(said: str, wanted: str) -> None:
    """The error's text is the wanted one; a last line "others: ..." stands for the state of every rank not named.

    Which state is told first, and so without a colon, depends on those.
    """
    head, others, operation = wanted.partition("\nothers: ")
    if not others:
        assert re.sub(r"what rank \d emitted", "what rank RANK emitted", said) == wanted, "whichever came first"
        return
    said, head = (re.sub(rf"^({_RANKS}):", r"\1", text, flags=re.MULTILINE) for text in (said, head))
    states = rf"(waiting in|lost a peer in) {re.escape(operation)}( \(a consequence\))?"
    if operation == ON_THEIR_WAY:
        states = r"(running( at cell line \d)?|taking its arguments|sending its result|finished)"
    cut_off = re.compile(rf"{_RANKS}:? {states}")
    rest = [line for line in said.splitlines() if line not in head.splitlines()]
    assert said.startswith(head.splitlines()[0] + "\n") and len(rest) + len(head.splitlines()) == len(said.splitlines())
    assert all(cut_off.fullmatch(line) for line in rest), said
    named = [rank for line in said.splitlines() if (found := _STATE.match(line)) for rank in ranks(found[1])]
    assert sorted(named) == [0, 1, 2, 3], f"every rank once in: {said}"


def ranks(text: str) -> list[int]:
    """ "0-2, 5" -> [0, 1, 2, 5]."""
    pairs = (part.partition("-") for part in text.split(", "))
    return [rank for first, _, last in pairs for rank in range(int(first), int(last or first) + 1)]
