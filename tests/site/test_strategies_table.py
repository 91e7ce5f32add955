"""The tables of ways to train by the clock: every cell follows from the seconds of the recorded run."""

import json
from pathlib import Path

import pytest
from docutils import nodes

from website.roles import load_run
from website.strategies_table import NONE, clocked_rows, emulated_rows, percent, tables

RUN = load_run(Path(__file__).parents[2] / "recorded", "strategies-time-cpu")


def said(row):
    return [[part.astext() for part in cell] for cell in row]


def test_a_strategy_has_its_speeds_and_what_is_left_of_four_ranks():
    rows = {line[0][0]: line[1:] for line in map(said, clocked_rows(RUN["data"]["clocked"]))}
    assert set(rows) == {one["name"] for one in RUN["data"]["clocked"]} and len(rows) == 12
    seconds = {(one["name"], one["nranks"]): one["seconds"] for one in RUN["data"]["clocked"]}
    for name, cells in rows.items():
        alone, four = seconds.get((name, 1)), seconds[name, 4]
        assert cells[2] == [f"{512 / four:,.0f}"], "8 samples of 64 tokens"
        assert cells[6] == ([percent(alone / four / 4)] if alone else [NONE])
        assert (cells[5] == cells[4]) == ("checkpointed" not in name), "HFU is more where something is computed again"
    assert rows["mesh, DP x TP"][:2] == [[NONE], [NONE]] and rows["mesh, DP x TP"][3] == [NONE]


def test_a_way_has_found_and_paper():
    rows = {line[0][0]: line[1:] for line in map(said, emulated_rows(RUN["data"]["emulated"]))}
    one = next(one for one in RUN["data"]["emulated"] if (one["way"], one["kind"]) == ("overlapped", "strong"))
    t = {part: {int(n): value for n, value in one[part].items()} for part in ("seconds", "paper")}
    strong = [f"{t['seconds'][1] / t['seconds'][4] / 4:.1%}", f"{t['paper'][1] / t['paper'][4] / 4:.1%}"]
    assert [words.replace(" %", "%").removeprefix("paper ") for words in rows["overlapped"][0]] == strong
    assert len(rows) == 5 and all(len(cell) == 2 for cells in rows.values() for cell in cells)


def test_amdahl_s_share_is_that_of_times_that_follow_his_law():
    times = {str(n): 0.25 + 0.75 / n for n in (1, 2, 4)}
    kinds = [{"way": "a way", "kind": kind, "seconds": times, "paper": times} for kind in ("strong", "weak")]
    row = said(emulated_rows([one | {"hidden": 0.5, "hidden_paper": 1.0} for one in kinds])[0])
    assert row[2] == ["25.0 %", "paper 25.0 %"] and row[4] == ["50.0 %", "paper 100.0 %"]


def test_another_table_is_refused_and_one_says_where_it_is_from():
    with pytest.raises(ValueError, match="clocked or emulated, got 'slow'"):
        tables("slow", RUN)
    shown, caption = tables("emulated", json.loads(json.dumps(RUN)))
    assert isinstance(shown, nodes.table) and RUN["label"] in caption.astext() and RUN["date"] in caption.astext()
