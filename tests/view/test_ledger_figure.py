"""The figures of the ledger: what is in the bars is what the entries say."""

import pytest

from helpers.ledger import entry
from helpers.memory import Sharding
from helpers.units import seconds_text
from helpers.view.figures.training.ledger import ledger, ledger_memory
from helpers.view.figures.twin import twin

SHARDED = entry("70B", Sharding(data=64, zero=3), "fsdp2", "full")
TENSOR = entry("70B", Sharding(tensor=8, data=8, zero=1, sequence=True, micro_batches=8))


def test_a_bar_adds_up_to_an_entry():
    figure = ledger([SHARDED, TENSOR])
    for i, one in enumerate((SHARDED, TENSOR)):
        assert sum(bar.x[i] for bar in figure.data) == pytest.approx(1e3 * one.predicted, abs=0.01)
        assert sum(bar.customdata[i][0] for bar in figure.data) == pytest.approx(one.sent)
    assert [bar.name for bar in figure.data] == ["data, between nodes", "tensor, inside a node"]


def test_a_row_has_room_for_its_name_and_what_is_too_thin_is_written():
    staged = entry("70B", Sharding(tensor=8, sequence=True, pipeline=8, micro_batches=64), checkpoint="full")
    figure = ledger([staged, SHARDED], marked="pipeline")
    lines = max(name.count("<br>") + 1 for name in figure.data[0].y)
    assert lines == 4 and figure.layout.height == 170 + 2 * 17 * lines
    (mark,) = figure.layout.annotations  # the other has no stages
    (took,) = [bar.x[0] for bar in figure.data if bar.name == "pipeline, between nodes"]
    assert mark.text == f"pipeline: {seconds_text(took / 1e3)}" and 0.3 < mark.y < 0.5, "under the first bar"


def test_memory_is_stacked_to_the_peak():
    figure = ledger_memory([SHARDED, TENSOR])
    assert sum(bar.customdata[1][0] for bar in figure.data) == TENSOR.nbytes


def test_one_way_computed_twice_is_two_bars_and_names_are_the_readers_where_given():
    plain = entry("70B", Sharding(data=64, zero=3), "fsdp2")
    figure = ledger([plain, SHARDED])
    assert list(figure.data[0].y) == ["64 data, ZeRO-3", "64 data, ZeRO-3,<br>recomputed"]
    assert [row[1] for row in twin(figure).rows] == ["64 data, ZeRO-3", "64 data, ZeRO-3, recomputed"]
    assert list(ledger_memory({"a": plain, "b": SHARDED}).data[0].y) == ["a", "b"]


def test_two_setups_or_none_are_refused():
    with pytest.raises(ValueError, match="entries of one setup, got 70B, 7B"):
        ledger([SHARDED, entry("7B", Sharding(data=8))])
    with pytest.raises(ValueError, match="got none"):
        ledger([])
