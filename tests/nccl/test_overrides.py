"""NCCL_ALGO and NCCL_PROTO as NCCL reads them: its documentation's own examples, what is left to choose, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.nccl import OverrideError, Platform, overridden, overrides, predict
from helpers.nccl.overrides import ALGORITHMS, FUNCTIONS, PROTOCOLS

MIB = 2**20
H100 = Platform("H100", 8)


def left(by, collective, kind="algorithms"):
    return {name for name, switch in getattr(by, kind)[collective].items() if switch}


def test_nothing_set_leaves_all_and_ll128_automatic():
    by = overrides()
    for collective in FUNCTIONS:
        assert left(by, collective) == set(ALGORITHMS)
        assert by.protocols[collective] == {"LL": 1, "LL128": 2, "Simple": 1}
    assert by.forced() == ()


def test_the_examples_of_the_documentation():
    by = overrides("ring,collnetdirect;allreduce:tree,collnetdirect;broadcast:ring")
    assert left(by, "all_reduce") == {"Tree", "CollNetDirect"} and left(by, "broadcast") == {"Ring"}
    assert left(by, "all_gather") == left(by, "reduce") == {"Ring", "CollNetDirect"}
    by = overrides("allreduce:^tree")
    assert left(by, "all_reduce") == set(ALGORITHMS) - {"Tree"} and left(by, "all_gather") == set(ALGORITHMS)


def test_the_examples_of_the_source():
    by = overrides(proto="LL,Simple;allreduce:^LL")
    assert left(by, "all_gather", "protocols") == {"LL", "Simple"}
    assert left(by, "all_reduce", "protocols") == {"LL128", "Simple"} and by.forced() == ("all_reduce",)
    by = overrides(proto="^LL128;allreduce:LL128")
    assert left(by, "reduce", "protocols") == {"LL", "Simple"} and left(by, "all_reduce", "protocols") == {"LL128"}


def test_excluding_one_protocol_forces_ll128_and_naming_others_does_not():
    assert overrides(proto="^LL").forced() == overrides(proto="^Simple").forced() == tuple(FUNCTIONS)
    assert overrides(proto="^LL128").forced() == overrides(proto="LL,Simple").forced() == ()
    assert overrides("^tree").forced() == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ring;tree", 'All entries except the first must have a prefix: "ring;tree"'),
        (";ring", 'All entries except the first must have a prefix: ";ring"'),
        ("rings", 'Unrecognized element token "rings" when parsing "rings"'),
        ("allreduce:", 'Unrecognized element token "allreduce" when parsing "allreduce:"'),
        ("all_reduce:ring", 'Unrecognized prefix token "all_reduce" when parsing "all_reduce:ring"'),
        ("allreduce: tree", 'Unrecognized element token " tree" when parsing "allreduce: tree"'),
        ("ring, tree", 'Unrecognized element token " tree" when parsing "ring, tree"'),
    ],
)
def test_what_nccl_does_not_take_it_says(text, words):
    with pytest.raises(OverrideError) as refused:
        overrides(text)
    assert str(refused.value) == words


def test_empty_pieces_are_passed_over_and_a_lone_caret_allows_all():
    assert left(overrides("ring,,tree,"), "reduce") == {"Ring", "Tree"}
    assert left(overrides("allreduce:ring;"), "all_reduce") == {"Ring"}
    assert left(overrides("^"), "all_reduce") == set(ALGORITHMS)
    assert overrides("") == overrides()


def test_a_choice_is_made_among_what_is_left():
    free = predict("all_reduce", 32 * MIB, H100, version="2.29.2")
    assert (free.algorithm, free.protocol) == ("NVLS", "Simple")
    ring = overridden(free, overrides("allreduce:^nvls"))
    assert (ring.algorithm, ring.protocol) == ("Ring", "LL128")
    assert ring.seconds == free.candidate("Ring", "LL128").corrected and ring.raw == free.candidate("Ring", "LL128").raw
    tree = overridden(free, overrides("allreduce:tree", "allreduce:LL"))
    assert [(c.algorithm, c.protocol) for c in tree.candidates] == [("Tree", "LL")]
    assert tree.seconds == tree.raw and tree.channels == free.candidate("Tree", "LL").channels
    assert overridden(free, overrides("allgather:ring")) == free


def test_a_tree_for_all_leaves_nothing_to_a_gather():
    free = predict("all_gather", MIB, H100, version="2.29.2")
    with pytest.raises(OverrideError, match=r"for function AllGather\. NCCL_ALGO was set to Tree\."):
        overridden(free, overrides("Tree"))
    with pytest.raises(OverrideError, match=r"NCCL_ALGO was set to nvls\. NCCL_PROTO was set to LL\."):
        overridden(free, overrides("nvls", "LL"))
    with pytest.raises(ValueError, match=r"since NCCL 2\.24, got 2\.23\.4"):
        overridden(predict("all_gather", MIB, H100, version="2.23.4"), overrides("Tree"))


def test_lists_by_collective_are_read_from_2_24_on():
    free = replace(predict("all_gather", MIB, H100, version="2.29.2"), version="2.24.3")
    assert overridden(free, overrides("Ring")).algorithm == "Ring"


def test_it_prints_the_table_that_nccl_logs():
    head, *rows = str(overrides(proto="allreduce:^LL")).splitlines()
    assert head.split() == ["Function", "|", *PROTOCOLS, "|", *ALGORITHMS]
    assert [row.split()[0] for row in rows] == list(FUNCTIONS.values())
    assert rows[-1].split()[2:5] == ["0", "1", "1"] and rows[0].split()[2:5] == ["1", "2", "1"]
