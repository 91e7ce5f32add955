"""scripts/annotations.py: what is not said is summed more often, and no loss differs."""

import re

from torchrun import sound, torchrun


def test_what_is_said_decides_what_is_summed():
    done = sound(torchrun("annotations.py", 2))
    lines = dict(re.findall(r"^ *([a-z ,]+): (.*); \S+ off$", done.stdout, re.M))
    assert list(lines) == ["matrices alone", "outputs of pairs, too", "both ends of pairs"]
    calls = {name: {op: int(n) for n, op in re.findall(r"(\d+) (\w+)", line)} for name, line in lines.items()}
    pairs = 2
    assert calls["both ends of pairs"] == {"all_reduce": 2 * pairs - 1}  # nobody wants the gradient of x
    assert calls["matrices alone"]["all_reduce"] > 2 * calls["both ends of pairs"]["all_reduce"]
    assert sum(calls["outputs of pairs, too"].values()) > 2 * pairs - 1
