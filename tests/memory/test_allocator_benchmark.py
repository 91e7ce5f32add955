"""The benchmark of the allocator's model runs with the smallest settings, and refuses bad ones."""

import re

import pytest

from benchmarks import allocator


def test_it_prints_a_row_per_trace_and_kind(capsys):
    allocator.main(["--rounds", "1", "--models"])
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 3
    assert re.fullmatch(r"article, 16 x 256 +fixed +1,\d{3} +[\d.]+ +1,021\.3 +1,116 +60", rows[1])


@pytest.mark.parametrize("wrong", [["--rounds", "0"], ["--models", "GPT-9"]])
def test_bad_settings_are_refused(wrong):
    with pytest.raises((ValueError, SystemExit)):
        allocator.main(wrong)
