"""python -m helpers.parallel: what it prints, what it refuses before any rank starts, and what it says of a line that is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.parallel import Training
from helpers.parallel import __main__ as module
from helpers.parallel.report import HEADER, Line, laid_out, row
from helpers.parallel.strategy import Predicted
from helpers.parallel.table import STRATEGIES


def refused(monkeypatch, capsys, *argv: str) -> str:
    """What it says; no rank may start."""
    monkeypatch.setattr(module, "Ranks", lambda *args, **kwargs: pytest.fail("ranks were started"))
    assert module.main(list(argv)) == 2
    return capsys.readouterr().err


def test_what_makes_no_sense_is_told_before_ranks_start(monkeypatch, capsys):
    said = refused(monkeypatch, capsys, "-n", "3", "data")
    assert said == "helpers.parallel: 3 ranks do not divide batch 8: take batch 6 or 9, or 2 or 4 ranks\n"
    assert "batch 6: take batch 4 or 8" in refused(monkeypatch, capsys, "--batch", "6", "sharded")
    assert "no strategy begins with zebra: there are data, parameter server; " in refused(monkeypatch, capsys, "zebra")
    assert "steps is a whole number from 1 on, got 0" in refused(monkeypatch, capsys, "--steps", "0")
    assert "ranks is a whole number from 1 on, got 0" in refused(monkeypatch, capsys, "-n", "0")


LINE = Line(1, 1e-14, 1e-10, {"all_reduce": 2}, {"all_reduce": 2}, 96.0, 96.0, 96.0, {"parameter": 8}, {"parameter": 8})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, []),
        ({"difference": 2e-10}, ["rank 1: 2.0e-10 from single-process training, at most 1e-10"]),
        ({"difference": float("nan")}, ["rank 1: nan from single-process training, at most 1e-10"]),
        ({"calls": {"all_reduce": 3}}, ["rank 1: calls: {'all_reduce': 3}, predicted {'all_reduce': 2}"]),
        ({"sent": 95.5}, ["rank 1: bytes: 95.5, predicted 96.0"]),
        ({"held": {"parameter": 9}}, ["rank 1: memory: {'parameter': 9}, predicted {'parameter': 8}"]),
    ],
)
def test_a_line_says_what_is_wrong_with_it(changed, said):
    assert LINE._replace(**changed).wrong == said


def test_a_row_is_of_the_busiest_and_of_the_fullest_rank():
    other = LINE._replace(rank=0, difference=3e-12, sent=50.0, calls={"send": 7}, held={"parameter": 1000})
    cells = row("name", [LINE, other])
    assert cells == ("name", "3.0e-12", "2", "2", "96", "96", "96", "1,000", "8")
    assert len(cells) == len(HEADER) and laid_out(cells, 8).startswith("name      ")


RIGHT = STRATEGIES["data, avg"]


def wrong_by_one(training: Training, nranks: int, rank: int) -> Predicted:
    right = RIGHT.predicted(training, nranks, rank)
    return Predicted(right.calls, {"all_reduce": right.sent["all_reduce"] + 1}, right.held)


def test_a_wrong_prediction_is_printed_and_is_the_exit_code(ranks, monkeypatch, capsys):
    """On ranks that are there already: what the command does with them, and with a formula that is off by one byte."""
    monkeypatch.setattr(module, "Ranks", lambda *args, **kwargs: Lent(ranks))
    assert module.main(["data, avg", "--steps", "2", "--model", "transformer", "--optimizer", "adamw"]) == 0
    label, _, header, line = capsys.readouterr().out.splitlines()
    assert label == "4 ranks, gloo, CPU; bytes of all steps" and header.split()[0] == "strategy"
    assert line.startswith("data, avg ") and line.split()[2:][1:3] == ["40", "40"]
    monkeypatch.setitem(STRATEGIES, "data, avg", replace(RIGHT, predicted=wrong_by_one))
    assert module.main(["data, avg"]) == 1
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "data, avg, rank 3: bytes: 61440.0, predicted 61441.0"


def only_on_six(training: Training, nranks: int, rank: int) -> Predicted:
    if nranks != 6:
        raise ValueError("it wants 6 ranks")
    return RIGHT.predicted(training, nranks, rank)


def test_what_fits_runs_and_what_does_not_is_left_out_by_name(ranks, monkeypatch, capsys):
    """Of all strategies: those that do not fit are told at the end. One that was asked for by its name is an error."""
    monkeypatch.setattr(module, "Ranks", lambda *args, **kwargs: Lent(ranks))
    six = replace(RIGHT, name="on six", predicted=only_on_six)
    monkeypatch.setattr(module, "STRATEGIES", {"data, avg": RIGHT, "on six": six})
    assert module.main(["--steps", "1"]) == 0
    *_, line, last = capsys.readouterr().out.splitlines()
    assert line.startswith("data, avg") and last == "left out: on six: it wants 6 ranks"
    assert refused(monkeypatch, capsys, "on six") == "helpers.parallel: it wants 6 ranks\n"


class Lent:
    """Ranks that stay when the block ends."""

    def __init__(self, ranks):
        self.ranks = ranks

    def __enter__(self):
        return self.ranks

    def __exit__(self, *_):
        return None
