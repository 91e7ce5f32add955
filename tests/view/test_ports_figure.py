"""What leaves each rank: a bar a rank, a mark where the formula has it, and the same numbers in the table."""

import pytest

from helpers.units import MIB
from helpers.view.figures.training.ports import Port, ports
from helpers.view.figures.twin import twin
from helpers.view.shared.tokens import rank_colour

WAYS = {"server": [Port(3 * MIB, 3 * MIB), Port(MIB, MIB)], "all_reduce": [Port(1.5 * MIB, 2 * MIB)] * 2}


def test_bars_are_counted_and_marks_are_predicted():
    counted, predicted = ports(WAYS, "A finding").data
    assert list(counted.x) == [3, 1, 1.5, 1.5] and list(predicted.x) == [3, 1, 2, 2]
    assert [list(part) for part in counted.y] == [
        ["server", "server", "all_reduce", "all_reduce"],
        ["rank 0", "rank 1", "rank 0", "rank 1"],
    ]
    assert list(counted.marker.color) == [rank_colour(0), rank_colour(1)] * 2
    assert predicted.marker.symbol.endswith("-open")


def test_its_table_has_every_bar_and_every_mark():
    found = twin(ports(WAYS, "A finding"))
    assert [found.cells(row) for row in found.rows] == [
        ["counted", "server, rank 0", "3"],
        ["counted", "server, rank 1", "1"],
        ["counted", "all_reduce, rank 0", "1.5"],
        ["counted", "all_reduce, rank 1", "1.5"],
        ["predicted", "server, rank 0", "3"],
        ["predicted", "server, rank 1", "1"],
        ["predicted", "all_reduce, rank 0", "2"],
        ["predicted", "all_reduce, rank 1", "2"],
    ]


@pytest.mark.parametrize("ways", [{}, {"server": []}])
def test_nothing_is_refused(ways):
    with pytest.raises(ValueError, match="a figure of ports wants ways with ranks"):
        ports(ways, "A finding")
