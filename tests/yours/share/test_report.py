"""A verdict as a text to paste: all that was said, and where each number stands that it was held against."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.facts import FACTS, MACHINES
from helpers.version import VERSION
from helpers.yours import is_my_number_good
from helpers.yours.share.report import report
from helpers.yours.tables.printing import printed

sys.path.append(str(Path(__file__).parents[1]))

from made_tables import run, times

FAULTS = sorted((Path(__file__).parents[1] / "faults").iterdir())
HEALTHY = printed("H200", "all_reduce", 8, "2.29.2", times(run("H200")))


@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.name)
def test_all_that_was_said_is_in_it(path):
    found = is_my_number_good(path.read_bytes())
    text = report(found).replace("\\<", "<").replace("\\*", "*")
    said = [found.refused] if found.refused else [found.what, found.sentence, *found.lines[:40]]
    said += [part for one in found.causes for part in (one.name, one.why[1:], f"`{one.chapter}`", one.command)]
    said += [f"section `{one.repair}` of Repair" for one in found.causes if one.repair]
    said += [part for one in found.nearest for part in (one.title, f"<{one.url}>")]
    assert [part for part in [*said, VERSION] if part not in text] == []


def test_every_number_has_its_source():
    text = report(is_my_number_good(HEALTHY))
    wire = FACTS["nvlink-4.gpu"]
    assert f"line rate 450 GB/s one way per GPU: fact `nvlink-4.gpu`, {wire.source.title}, <{wire.source.url}>" in text
    assert f"plateau 460 GB/s: {run('H200').title}, <{run('H200').url}>" in text


def test_several_nodes_have_the_source_of_their_ports():
    made = {2**n: 2**n / 20e9 for n in range(20, 31)}
    found = is_my_number_good(printed("H100", "all_reduce", 16, "2.29.2", made), "2x8-IB")
    port = MACHINES["2x8-IB"].port
    assert f"fact `{port.key}`, {port.source.title}, <{port.source.url}>" in report(found)


def test_words_of_a_readers_own_are_no_markup():
    text = report(
        is_my_number_good("h7:1:1 [0] NCCL INFO NCCL version 2.31.2+cuda13.0\nh7:1:1 [0] NCCL WARN <script>x*y*\n")
    )
    assert "\\<script>x\\*y\\*" in text
