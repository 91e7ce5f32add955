"""scripts/reading-a-trace.py on real ranks: each rank's times add up to the nanosecond, and the library reads the same from its trace."""

import re

from torchrun import sound, torchrun

from helpers.nccl import parse_kineto

LINE = re.compile(r"^rank (\d): (\S+) ms = (\S+) computes \+ (\S+) exposed \+ (\S+) idle, (\S+) of it while", re.M)


def test_times_add_up_and_the_loader_is_found(tmp_path):
    done = sound(torchrun("reading-a-trace.py", 2, str(tmp_path / "traces"), "12"))
    found = {int(rank): [round(float(ms) * 1e6) for ms in rest] for rank, *rest in LINE.findall(done.stdout)}
    assert set(found) == {0, 1}
    for rank, (every, computes, exposed, idle, waits) in found.items():
        assert every == computes + exposed + idle and min(computes, exposed, idle) > 0
        assert 3 * 12e6 <= waits <= idle
        read = parse_kineto(tmp_path / "traces" / f"{rank}.json")
        assert sum(one.op == "all_reduce" for one in read.collectives) == 3 * 16
        spans = [read.steps[0][0], read.steps[2][1]]
        assert abs(every - (spans[1] - spans[0])) < 1000
