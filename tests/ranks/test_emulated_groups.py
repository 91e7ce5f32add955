"""Groups of some ranks on an emulated network: a collective costs what its own members' links cost, and gives what torch gives."""

from __future__ import annotations

import pytest
import slow_networks as lab
from lanes import some

from helpers.collectives import CATALOGUE, price
from helpers.ranks import Ranks
from helpers.ranks.network.collectives import PLAYED

NODES = lab.TwoNodes(lab.link(15, 40), lab.link(40, 15))
ROWS, COLUMNS, THREE = [[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 1, 3], [2]]
NBYTES = 384 * 1024
MESHED = ("all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all")
TIMED = {"rows": (ROWS, MESHED), "columns": (COLUMNS, MESHED), "three and one": (THREE, MESHED[:2])}
CLOSE = 0.15


@pytest.fixture(scope="module")
def nodes():
    """Two nodes of two ranks."""
    with Ranks(4, backend="gloo", link=NODES, timeout=10.0) as ranks:
        yield ranks


def priced(collective: str, members: list[int]) -> float:
    s = CATALOGUE[collective, PLAYED[collective]](nranks=len(members))
    return price(s, NBYTES, lab.Members(NODES, members)).seconds


@pytest.mark.alone
@pytest.mark.parametrize("which", some(TIMED, ["rows"], "the times of more groups on an emulated link"))
def test_a_collective_of_a_group_takes_what_the_links_of_its_members_cost(nodes, which):
    """In all groups at once: rows of a mesh of two by two, inside the nodes; its columns, across; three ranks, on links of both kinds."""
    parts, names = TIMED[which]
    for name, seconds in nodes.run(lab.in_groups, parts, NBYTES, names)[0].items():
        assert seconds == pytest.approx(priced(name, parts[0]), rel=CLOSE), name


def test_rows_and_columns_cost_differently():
    rows, columns = (priced("all_reduce", parts[0]) for parts in (ROWS, COLUMNS))
    assert columns > 2.5 * rows


@pytest.mark.parametrize("parts", [ROWS, COLUMNS, THREE], ids=["rows", "columns", "three and one"])
def test_the_values_in_groups_are_those_of_a_network_that_is_not_emulated(nodes, four, parts):
    for ours, torchs in zip(nodes.run(lab.values_in_groups, parts), four.run(lab.values_in_groups, parts), strict=True):
        assert len(ours) == len(torchs) >= 10
        for one, other in zip(ours, torchs, strict=True):
            assert one == pytest.approx(other, rel=1e-6)


def test_a_root_outside_the_group_is_told(nodes):
    def f():
        import torch
        import torch.distributed as dist

        mine, _ = dist.new_subgroups_by_enumeration([[0, 1], [2, 3]])
        with pytest.raises(ValueError, match="the root is one of the group's ranks"):
            dist.broadcast(torch.ones(1), 2 - dist.get_rank() // 2 * 2, group=mine)
        return True

    assert nodes.run(f) == [True] * 4
