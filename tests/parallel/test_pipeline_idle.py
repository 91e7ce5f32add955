"""The bubble that ranks show is the closed form's: stages that sleep, messages that are real."""

import pytest
from lanes import some

from helpers.parallel.pipeline.emulated import idle_share, slept
from helpers.pipeline import SCHEDULES, Times, bubble_share, timeline
from helpers.ranks import Ranks

FORWARD = 0.045  # seconds
LIMIT = 60.0  # seconds for a few steps of less than a second
MESSAGES = Times(0, 0, 0, hop=1)  # computing takes no time: a step lasts as many hops as follow upon each other


@pytest.fixture(scope="module")
def four():
    with Ranks(4, backend="gloo") as ranks:
        yield ranks


def seconds_of_a_hop(four, s):
    """A step in which nobody computes is its messages, one after another: the quickest of five, shared out among its hops."""
    steps = four.run(slept, s, Times(0, 0, 0), 5, limit=LIMIT)[0]
    return min(max(one.elapsed for one in step) for step in steps) / timeline(s, MESSAGES).makespan


@pytest.mark.alone
@pytest.mark.parametrize("name", some(SCHEDULES, ["1f1b"], "the bubble of more schedules"))
def test_the_idle_share_is_within_a_tenth_of_the_closed_form(four, name):
    """The formula's messages take no time. Those of ranks do, and a timeline with their hop says what that adds to the bubble.

    Where something else keeps the cores busy they would add a tenth by themselves: then nothing is measured.
    """
    s = SCHEDULES[name](4, 4)
    times = Times(FORWARD, FORWARD, FORWARD, hop=seconds_of_a_hop(four, s))
    closed, with_hops = float(bubble_share(s)), float(timeline(s, times).bubble)
    if with_hops > 1.1 * closed:
        pytest.skip(
            f"a busy machine: a hop takes {times.hop * 1e3:.1f} ms, which makes {with_hops:.3f} of {closed:.3f}"
        )
    measured = min(map(idle_share, four.run(slept, s, times, 2, limit=LIMIT)[0]))
    assert measured == pytest.approx(with_hops, rel=0.1)
