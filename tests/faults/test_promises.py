"""The promises in figures, with ceilings of five times the figure."""

from __future__ import annotations

import inspect
import re

import pytest
from kernels import HEALTHY, SUMS
from lanes import some

from helpers.ranks import Ranks

pytestmark = pytest.mark.faults

DEATH = 5 * 1.0  # seconds from a rank's death to the cell's error
DEADLINE = 5 * 1.0  # seconds on top of the deadline
RSS_GROWTH = 20_000_000  # bytes over 100 launches

FIFTY = """
ways = [(signal.SIGKILL, 'died: SIGKILL'), (signal.SIGSEGV, 'died: SIGSEGV'), (signal.SIGABRT, 'died: SIGABRT'),
        (signal.SIGTERM, 'died: SIGTERM'), (None, 'exited with code 0 before it was done')]
def f(victim, signum):
    if dist.get_rank() == victim:
        emit(time.monotonic())
        os._exit(0) if signum is None else os.kill(os.getpid(), signum)
    dist.all_reduce(torch.ones(1024))
for number in range(50):
    victim, (signum, words) = number % 4, ways[number % 5]
    when = []
    try: r.run(f, victim, signum, on_emit=lambda rank, what: when.append(what))
    except RankError as error:
        took = time.monotonic() - when[0]
        print(str(error).startswith(f'rank {victim} {words}'), took)
"""
LAUNCHES = """
def early():
    if dist.get_rank(): dist.all_reduce(torch.ones(4))
def launch(number):
    with Ranks(2, backend='gloo', timeout=1.0) as two:
        if number % 2 == 0: return two.run(healthy) == [8.0, 8.0]
        try: two.run([lambda: os._exit(7), early, lambda: 1 / 0][number // 2 % 3])
        except RankError: return True
"""


@pytest.mark.parametrize("number", some([10, 50], [10], "fifty deaths, a hundred launches"))
def test_every_death_names_the_right_rank_and_signal(kernel, number):
    rows = [
        line.split()
        for line in kernel.run(FIFTY.replace("range(50)", f"range({number})")).text.splitlines()
        if line.startswith(("True", "False"))
    ]
    assert len(rows) == number and all(right == "True" for right, _ in rows)
    assert max(float(took) for _, took in rows) < DEATH
    assert kernel.run(HEALTHY).text == SUMS


def test_ten_seconds_are_the_default():
    assert inspect.signature(Ranks).parameters["timeout"].default == 10.0


@pytest.mark.parametrize(
    "timeout",
    some([1.0, 10.0], [1.0], "the default deadline, waited for"),
    ids=["set to 1 s", "10 s, the default"],
)
def test_a_skipped_collective_is_told_at_the_deadline(kernel, timeout):
    made = "" if timeout == 10.0 else f", timeout={timeout}"
    text = kernel.run(
        "def f():\n    if dist.get_rank() != 1: dist.all_reduce(torch.ones(4))\n    time.sleep(600)\n"
        f"with Ranks(4, backend='gloo'{made}) as q:\n    q.run(healthy); start = time.monotonic()\n"
        "    try: q.run(f)\n    except RankError as error: print(time.monotonic() - start, error)"
    ).text
    seconds, _, said = text.partition(" ")
    assert timeout <= float(seconds) < timeout + DEADLINE
    assert re.findall(r"^ranks? [\d, -]+", said, re.MULTILINE) and "rank 1: running at cell line 3" in said
    assert "ranks 0, 2, 3 waiting in all_reduce #1 of float32[4] at cell line 2" in said


@pytest.mark.parametrize("number", some([12, 100], [12], "fifty deaths, a hundred launches"))
def test_launches_half_of_them_failing_leave_nothing(kernel, number):
    kernel.settle()
    kernel.run(LAUNCHES)
    assert kernel.run("print(all([launch(number) for number in range(12)]))").text.endswith("True\n")
    before, rss = kernel.holds(), kernel.rss()
    assert kernel.run(f"print(all([launch(number) for number in range({number})]))").text.endswith("True\n")
    assert kernel.more_than(before) == {}
    assert kernel.rss() - rss < RSS_GROWTH
