"""The bubble that ranks show is the closed form's: stages that sleep, messages that are real."""

from statistics import median

import pytest
from lanes import some

from helpers.parallel.pipeline.emulated import idle_share, slept
from helpers.pipeline import SCHEDULES, Times, bubble_share, idle
from helpers.ranks import Ranks

FORWARD = 0.04  # seconds
LIMIT = 60.0  # seconds for a few steps of less than a second


@pytest.fixture(scope="module")
def four():
    with Ranks(4, backend="gloo") as ranks:
        yield ranks


@pytest.mark.alone
@pytest.mark.parametrize("name", some(SCHEDULES, ["1f1b", "zb-h1"], "the bubble of more schedules"))
def test_the_idle_share_is_within_a_tenth_of_the_closed_form(four, name):
    """The formula's messages take no time. Where something else keeps the cores busy they take long: then nothing is measured."""
    s, times = SCHEDULES[name](4, 4), Times(FORWARD, FORWARD, FORWARD)
    messages = median(
        max(one.elapsed for one in step) for step in four.run(slept, s, Times(0, 0, 0), 5, limit=LIMIT)[0]
    )
    if messages > idle(s, times) / 20:
        pytest.skip(
            f"a busy machine: messages alone take {messages * 1e3:.0f} ms of a wait of {idle(s, times) * 1e3:.0f} ms"
        )
    steps = four.run(slept, s, times, 2, limit=LIMIT)[0]
    assert min(map(idle_share, steps)) == pytest.approx(float(bubble_share(s)), rel=0.1)
