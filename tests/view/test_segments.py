"""The widget `segments` in Python: its data, its fallback, and what a page may change."""

import json
import re
from html import unescape

import pytest
import traitlets

from helpers.view import segments
from helpers.view.segments.spec import segments_spec
from helpers.view.segments.widget import segments_html


def test_a_saved_output_holds_data_and_a_readable_fallback():
    html = segments("a = 3 MiB; b = 30 MiB", limit="25 MiB", label="two tensors").html()
    assert "<script" not in html
    assert "Two tensors in the model of the allocator, 2 events: runs out of memory with fixed segments" in html
    assert "<td>expandable</td><td>large</td><td>20</td>" in html
    spec = json.loads(unescape(re.search(r'data-spec="(.*?)"', html)[1]))
    assert spec["views"][0]["oom"].startswith("CUDA out of memory (model). Tried to allocate 30.00 MiB")
    assert spec["views"][0]["actions"] == [[0, "S", 0, 0, 40960], [0, "+", 0, 0, 6144], [1, "!", 61440]]
    assert html == segments_html(segments_spec("a = 3 MiB; b = 30 MiB", limit="25 MiB", label="two tensors"))


def test_a_long_list_of_segments_is_cut_in_the_fallback():
    text = "; ".join(f"t{i} = 12 MiB" for i in range(20))
    assert segments(text).html().count("<tr>") == 1 + 12


def test_a_page_may_change_step_and_mode_and_nothing_else():
    widget = segments("a = 3 MiB")
    widget.spec = {**widget.spec, "step": 1, "mode": "fixed"}
    for wrong in ({"step": 2}, {"mode": "other"}):
        with pytest.raises(traitlets.TraitError):
            widget.spec = {**widget.spec, **wrong}
    assert widget.html() == segments("a = 3 MiB").html()


def test_segments_are_numbered_in_the_order_of_their_making():
    spec = segments_spec("a = 12 MiB; b = 1 KiB; del a; empty_cache(); c = 14 MiB")
    fixed, grown = spec.views
    assert fixed["segments"] == [["large", 12 << 11], ["small", 2 << 11], ["large", 14 << 11]]
    assert grown["segments"][0] == ["large", 20 << 11]
    assert [action[2:3] for action in fixed["actions"]] == [[0], [0], [1], [1], [], [0], [2], [2]]


def test_a_recorded_trace_is_shown_by_its_name():
    spec = segments_spec("article-cuda-like", label="the article")
    assert spec.program is None
    assert len(spec.events) > 1000
    assert spec.views[0]["peaks"][1] > spec.views[1]["peaks"][1] > spec.views[1]["peaks"][0]
