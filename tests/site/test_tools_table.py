"""What other tools count: each row stands on its page, and what can be run here is run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode

from helpers.facts import MODELS
from helpers.ledger.flops import flops
from website.tools_table import TOOLS, row

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", sorted({tool["page"] for tool in TOOLS}))
def test_a_page_shows_its_rows_once(page):
    assert (ROOT / f"book/{page}.md").read_text().count(f"```{{tools}} {page}\n") == 1


def test_a_row_names_its_version_and_ends_its_sentences():
    for tool in TOOLS:
        cells = [paragraph.astext() for cell in row(tool) for paragraph in cell]
        assert tool["version"] in cells[0] and all(words.endswith(".") and "`" not in words for words in cells[1:])


def test_versions_are_those_of_the_findings():
    text = "\n".join(path.read_text() for path in (ROOT / "findings").glob("*.sh"))
    assert "HolisticTraceAnalysis==0.5.0" in text and "torch-tb-profiler==0.4.3" in text
    assert {"0.5.0", "0.4.3"} <= {tool["version"] for tool in TOOLS}


def test_the_two_counts_of_scores_differ_as_said():
    """A token of Llama-3-8B by Megatron-LM (half of the scores) and by torchtitan (all, and the norms' weights)."""
    for seq, more, told in ((8192, 0.125, {"causal": 51.47, "all": 57.91}), (131072, 0.70, {})):
        token = {pairs: flops(MODELS["Llama-3-8B"], seq, seq, pairs=pairs).model / seq for pairs in ("causal", "all")}
        assert token["all"] / token["causal"] - 1 == pytest.approx(more, abs=0.005)
        assert {pairs: round(token[pairs] / 1e9, 2) for pairs in told} == told


def test_what_the_flop_counter_sees_on_a_cpu():
    q = torch.ones(1, 4, 64, 16, requires_grad=True)
    product = 2 * 4 * 64 * 64 * 16
    with FlopCounterMode(display=False) as counter:
        scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    sees = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 15)
    assert counter.get_total_flops() == 7 * product * sees
    with FlopCounterMode(display=False) as counter:
        torch._grouped_mm(
            torch.ones(16, 64).bfloat16(), torch.ones(4, 64, 32).bfloat16(), offs=torch.tensor([4, 8, 12, 16]).int()
        )
    assert counter.get_total_flops() == 0
