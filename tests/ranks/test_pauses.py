"""A machine that stood still is no rank's fault: what counts as waiting, and a program that everybody stopped for a while."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest

from helpers.ranks.hangs import pauses
from helpers.ranks.hangs.pauses import COUNTED, Pauses

PROGRAM = """
import time, torch, torch.distributed as dist
{imports}
def sums():
    if dist.get_rank() == 0:
        print("under way", flush=True)
        time.sleep(0.8)
    dist.all_reduce(torch.ones(1))
    return 7
{does}
"""
RANKS = PROGRAM.format(
    imports="from helpers.ranks import Ranks",
    does="with Ranks(2, backend='gloo', timeout=1.5) as ranks:\n    ranks.run(int)\n    print(ranks.run(sums, live=True, limit=3))",
)
JOB = PROGRAM.format(
    imports="from helpers.ranks import job",
    does="with job(timeout=1.5) as j:\n    print(f'{sums()}\\n', end='', flush=True)",
)


def clock(monkeypatch, *looks: float) -> Pauses:
    """Made at 0, every tenth of a second a look, and those at `looks`."""
    monkeypatch.setattr(pauses.time, "monotonic", lambda: 0.0)
    made = Pauses(0.1)
    for now in looks:
        made.look(now)
    return made


def test_a_gap_between_two_looks_counts_for_a_moment_only(monkeypatch):
    paused = clock(monkeypatch, 0.1, 0.2, 100.2, 100.3)
    assert paused.waited(0.15, 100.3) == pytest.approx(0.05 + 0.1 + COUNTED + 0.1)
    assert paused.waited(100.25, 100.3) == pytest.approx(0.05), "what began afterwards"
    assert paused.waited(50.0, 100.3) == pytest.approx(0.1 + COUNTED + 0.1, abs=0.1 + COUNTED), (
        "and what began meanwhile"
    )
    assert paused.stood_still == pytest.approx(99.7)


def test_looks_in_time_and_our_own_work_are_no_pause(monkeypatch):
    paused = clock(monkeypatch, 0.1, 0.3)
    paused.busy(0.35, 5.0)
    paused.look(5.4)
    assert paused.stood_still == 0
    assert paused.waited(0.0, 5.4) == pytest.approx(0.4)


def test_a_deadline_comes_however_slow_the_looks_are(monkeypatch):
    paused = clock(monkeypatch, *(5.0 * n for n in range(1, 60)))
    assert paused.waited(0.0, 5.0 * 59) > 10


@pytest.mark.faults
@pytest.mark.parametrize(
    ("code", "launcher"),
    [(RANKS, []), (JOB, ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"])],
    ids=["Ranks", "torchrun"],
)
def test_a_program_that_stood_still_as_a_whole_is_not_accused(tmp_path, code, launcher):
    (tmp_path / "program.py").write_text(code)
    program = subprocess.Popen(
        [sys.executable, *launcher, str(tmp_path / "program.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        heard = ""
        while "under way" not in heard and (line := program.stdout.readline()):
            heard += line
        time.sleep(0.3)  # the other rank waits
        everybody = [psutil.Process(program.pid), *psutil.Process(program.pid).children(recursive=True)]
        for one in everybody:
            one.suspend()
        time.sleep(3)
        for one in everybody:
            one.resume()
        heard += program.communicate(timeout=60)[0]
        assert program.returncode == 0 and heard.count("7") == 2, heard
    finally:
        program.kill()
        program.wait()
