"""scripts/hangs.py on real ranks: sound it ends well; broken, torch's own words are what the chapter says they are."""

import re

import pytest
from torchrun import real_torchrun, sound, torchrun

FAULTS = ("order", "shape", "die")
LAST = 3


def run(*options, nranks=4):
    return torchrun("hangs.py", nranks, *options)


def steps(done, number):
    """Ranks that got through a step, and the sum that they found."""
    return dict(sorted(re.findall(rf"rank (\d+) step {number}: (\S+)", done.stdout)))


@pytest.mark.parametrize(("options", "nranks"), [((), 1), (("--ask",), 4), (("slow", "--timeout", "60"), 3)])
def test_without_a_fault_every_rank_gets_through(options, nranks):
    done = sound(run(*options, nranks=nranks))
    want = {str(rank): str(nranks) for rank in range(nranks)}
    assert [steps(done, number) for number in (1, 2, 3)] == [want] * 3


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_the_job_in_its_second_step(fault):
    done = run(fault, "--timeout", "5")
    assert done.returncode != 0
    through = steps(done, 1)  # who dies may take along whoever still waits for its part of the step before
    assert set(through) == set("0123") or (fault == "die" and str(LAST) in through)
    assert steps(done, 3) == {}


@pytest.mark.matrix("whom torch blames, waited for")
def test_torch_blames_a_rank_that_waited_and_names_no_other():
    """torchrun's own summary, of two ranks: each of them imports torch."""
    done = real_torchrun("hangs.py", 2, "skip", "--timeout", "5")
    assert len(steps(done, 1)) == 2 and steps(done, 2) == {}
    root = re.search(r"Root Cause.*?rank +: (\d+)", done.stderr, re.S)
    assert int(root[1]) == 0, done.stderr[-2000:]
    said = [line for line in done.stderr.splitlines() if "RuntimeError" in line]
    assert said and all("Timed out" in line or "peer" in line for line in said)
    assert not any("ank 1" in line for line in said)


def test_who_does_not_come_is_named_when_somebody_asks():
    assert f"Ranks {LAST} failed to pass monitoredBarrier" in run("skip", "--timeout", "5", "--ask").stderr


def test_a_fault_that_it_does_not_know_is_refused():
    done = run("sleep", nranks=1)
    assert done.returncode != 0 and "invalid choice: 'sleep' (choose from" in done.stderr
