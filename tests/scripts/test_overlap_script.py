"""scripts/overlap.py on real ranks: the means are right for every size of a bucket, and no step is shorter than its backward."""

import re

from torchrun import sound, torchrun

LINE = re.compile(r"^(\d+), (\d+) MiB: (\S+) ms, exposed (\S+)", re.M)


def test_every_size_gives_the_means_and_no_step_is_shorter_than_its_backward():
    done = sound(torchrun("overlap.py", 2, "1", "5", "12"))
    found = {(int(rank), int(mib)): (float(step), float(shown)) for rank, mib, step, shown in LINE.findall(done.stdout)}
    assert set(found) == {(rank, mib) for rank in range(2) for mib in (1, 5, 12)}
    assert all(step >= 120 and step > shown for step, shown in found.values()), "twelve layers sleep 10 ms each"


def test_a_bucket_is_a_whole_number_of_layers():
    done = torchrun("overlap.py", 1, "0.5")
    assert done.returncode != 0 and "0.5" in done.stderr
