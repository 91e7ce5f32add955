"""The generated tables of accelerators: what a cell says is the fact's, and an unknown name fails the build."""

import pytest
from docutils import nodes

from helpers.facts import ACCELERATORS, DTYPES
from helpers.facts.levels import FORMULAS, NAMES, levels
from website.hierarchy_table import AcceleratorsDirective, level_cell, ridge_cell


def said(cell: list[nodes.Node]) -> list[str]:
    return [part.astext() for part in cell]


def test_the_a100_row_by_row():
    a100 = ACCELERATORS["A100"]
    registers, shared, l2, memory = (said(level_cell(a100, level)) for level in levels(a100))
    assert registers == ["256 KiB per SM, 27 MiB in all", "1.08 TB/s per SM, 117 TB/s in all, reads, derived"]
    assert shared == ["164 KiB per SM, 17.3 MiB in all", "180 GB/s per SM, 19.5 TB/s in all, both ways, derived"]
    assert l2 == ["40 MiB", "7.22 TB/s, reads, derived"]
    assert memory == ["80 GiB", "2.039 TB/s"]


def test_a_derived_bandwidth_tells_its_formula_and_a_published_one_its_source():
    *_, memory = levels(ACCELERATORS["B200"])
    derived = [level for level in levels(ACCELERATORS["B200"]) if level.name in ("Registers", "Shared memory")]
    assert len(derived) == 2
    for level in derived:
        shown = level_cell(ACCELERATORS["B200"], level)[1][0]
        assert isinstance(shown, nodes.abbreviation) and FORMULAS[level.name] in shown["explanation"]
    link = level_cell(ACCELERATORS["B200"], memory)[1][0]
    assert link["refuri"] == ACCELERATORS["B200"].hbm.source_url and "reads and writes together" in link["reftitle"]


def test_what_nobody_publishes_is_said_to_be_so():
    h100, mi300x = ACCELERATORS["H100"], ACCELERATORS["MI300X"]
    assert said(level_cell(h100, levels(h100)[2])) == ["50 MiB", "bandwidth not published"]
    assert said(level_cell(h100, None)) == ["–"]
    b200 = ACCELERATORS["B200"]
    own = {level.name: level for level in levels(b200)}["Tensor Memory"]
    assert said(level_cell(b200, own)) == ["256 KiB per SM, 37 MiB in all", "bandwidth not published"]
    assert [level.name for level in levels(mi300x)][3] == "L3 (Infinity Cache)"
    assert said(level_cell(mi300x, levels(mi300x)[0]))[0].startswith("512 KiB per CU")


@pytest.mark.parametrize("name", ACCELERATORS)
def test_levels_stand_from_the_arithmetic_outwards_and_only_data_center_blackwell_has_tensor_memory(name):
    found = [level.name for level in levels(ACCELERATORS[name])]
    assert found == [level for level in NAMES if level in found]
    assert ("Tensor Memory" in found) == ACCELERATORS[name].capability.startswith("10.")


@pytest.mark.parametrize("name", ACCELERATORS)
def test_every_ridge_links_to_its_peak(name):
    gpu = ACCELERATORS[name]
    for dtype in DTYPES:
        (cell,) = ridge_cell(gpu, dtype)
        if dtype in gpu.flops:
            assert float(cell.astext()) == pytest.approx(gpu.ridge(dtype), rel=0.005)
            assert cell[0]["refuri"] == gpu.flops[dtype].source_url
        else:
            assert cell.astext() == "–"


def test_an_unknown_name_is_refused_with_those_there_are():
    names = AcceleratorsDirective.names
    assert names(None, [], ("A100", "H100")) == ["A100", "H100"]
    with pytest.raises(ValueError, match="unknown H100000: expected some of A100, H100"):
        names(None, ["A100", "H100000"], ("A100", "H100"))
