"""The tracker's benchmark runs with its smallest settings, pairs everybody with a plain step, and refuses bad ones."""

import re

import pytest
import torch

from benchmarks import tracker


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_everybody_is_paired_with_a_plain_step(threads, capsys, monkeypatch):
    monkeypatch.setitem(tracker.BATCHES, 256, (1, 4))
    tracker.main([256], rounds=1)
    head, plain, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("six layers, Adam, one thread; torch ") and plain.startswith("width 256, 1 x 4 tokens")
    assert [row.split()[0] for row in rows] == [name.split()[0] for name in tracker.WATCHERS]
    ratios = [float(re.search(r"([\d.]+)x", row)[1]) for row in rows]
    assert ratios[0] > 1 and rows[0].endswith("(asked for: 1.15)"), "watching is not free"


def test_watching_a_step_of_width_256_costs_less_than_five_times_the_ceiling(threads):
    torch.set_num_threads(1)
    step = tracker.Step(256)
    step()
    ratio, _ = tracker.measure(step, tracker.ours, 2)
    assert ratio - 1 < 5 * (tracker.CEILING - 1)


@pytest.mark.parametrize(("widths", "rounds"), [([64], 0), ([12], 1)])
def test_bad_settings_are_refused(widths, rounds):
    with pytest.raises(ValueError, match="got"):
        tracker.main(widths, rounds)
