"""scripts/pipeline.py on real ranks: the order is that of helpers.pipeline, and the gradients are one process's."""

import re

import pytest
from torchrun import sound, torchrun

from helpers.pipeline import SCHEDULES

LINE = re.compile(r"rank (\d+): ([FB\d ]+); off by (\S+)")


@pytest.mark.parametrize(("nranks", "nmicrobatches"), [(1, 2), (3, 2), (4, 8)])
def test_its_order_is_1f1b_and_its_gradients_are_right(nranks, nmicrobatches):
    done = sound(torchrun("pipeline.py", nranks, str(nmicrobatches)))
    found = sorted(LINE.fullmatch(line).groups() for line in done.stdout.splitlines())
    programs = SCHEDULES["1f1b"](nranks, nmicrobatches).computed
    orders = [" ".join(f"{a.kind}{a.microbatch}" for a in program) for program in programs]
    assert [(int(rank), order) for rank, order, _ in found] == list(enumerate(orders))
    assert max(float(off) for *_, off in found) < 1e-12


def test_what_is_no_number_of_microbatches_is_refused_before_a_group_forms():
    done = torchrun("pipeline.py", 1, "0")
    assert done.returncode and "a whole number from 1 on, got 0" in done.stderr
