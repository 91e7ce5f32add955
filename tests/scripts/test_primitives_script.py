"""scripts/primitives.py on real ranks: what it prints is what the promises say."""

import re
from ast import literal_eval

import pytest
from torchrun import sound, torchrun

from helpers.collectives import outcome


@pytest.mark.parametrize("nranks", [1, 3])
def test_every_primitive_ends_as_promised(nranks):
    done = sound(torchrun("primitives.py", nranks))
    blocks = re.split(r"^(?=\w)", done.stdout, flags=re.M)[1:]
    told = {
        lines[0]: [literal_eval(line.split(" -> ")[1]) for line in lines[1:]] for lines in map(str.splitlines, blocks)
    }
    mine = [[10 * rank + i for i in range(nranks)] for rank in range(nranks)]
    assert told.pop("send and recv") == [mine[rank - 1] for rank in range(nranks)]
    assert len(told) == 8
    if nranks > 1:
        assert told == {name: outcome(name, mine) for name in told}
