"""The widgets `occupancy` and `warp` from Python: what they accept, what they save, and what a kernel may set."""

from __future__ import annotations

import json
import re

import pytest
import traitlets

from helpers.view import explore_occupancy, explore_warp
from helpers.view.occupancy.widget import gpus, occupancy_html, occupancy_spec
from helpers.view.warp.widget import warp_html, warp_spec


def test_a_saved_cell_keeps_the_state_and_a_table():
    html = occupancy_html(occupancy_spec("A100", 256, 64))
    assert 'data-kind="occupancy"' in html and "<script" not in html
    assert "<td>registers</td><td>4</td>" in html
    assert "On A100, 256 threads a block, 64 registers each" in html
    spec = json.loads(re.search(r'data-spec="([^"]+)"', html)[1].replace("&quot;", '"'))
    assert spec == occupancy_spec("A100", 256, 64).as_json()


def test_what_a_widget_saves_is_what_its_cell_asked_for():
    widget = explore_warp("banks", stride=2)
    before = widget.html()
    widget.spec = warp_spec("banks", stride=32).as_json()
    assert widget.counts["ways"] == 32
    assert widget.html() == before == warp_html(warp_spec("banks", stride=2))
    assert repr(widget).startswith("WarpWidget(Stride 2 in shared memory")


def test_the_sm_of_a_widget_is_counted():
    assert explore_occupancy("H100", threads=128, registers=168).occupancy.warps == 12


def test_only_accelerators_with_cudas_rules_are_offered():
    names = [gpu["name"] for gpu in gpus()]
    assert len(names) == 16 and not {"MI300X", "MI355X"} & set(names)
    assert all(gpu["shared"] - gpu["most"] == gpu["reserved"] for gpu in gpus())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: occupancy_spec("MI300X"), "accelerator must be one of V100"),
        (lambda: occupancy_spec("A100", 0), "threads per block must be"),
        (lambda: warp_spec("registers"), "view must be one of branch, memory, banks"),
        (lambda: warp_spec(branch="random"), "branch must be one of none"),
        (lambda: warp_spec(stride=34), "stride must be one of"),
        (lambda: warp_spec(nbytes=3), "nbytes must be one of 2, 4, 8"),
        (lambda: warp_spec(taken=True), "got True"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_kernel_cannot_be_told_what_cannot_be_drawn():
    for widget in (explore_occupancy(), explore_warp()):
        with pytest.raises(traitlets.TraitError, match="no spec of"):
            widget.spec = {**widget.spec, "threads": 4096, "stride": 99}
