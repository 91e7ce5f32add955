"""What a reader takes home: each script is one plain file for python or torchrun, short, without `helpers`, and runs."""

import re
from pathlib import Path

import pytest
from torchrun import real_torchrun, torchrun

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_is_plain_and_short(script):
    text = script.read_text()
    assert len(text.splitlines()) < 60
    assert not re.search(r"^\s*(from|import) helpers", text, re.M)
    how = f"torchrun --nproc-per-node 4 scripts/{script.name}", f"python scripts/{script.name}"
    assert any(words in text for words in how), "the first lines say how to run it"
    assert (ROOT / "book" / f"{script.stem}.md").exists(), "a script belongs to a chapter"


@pytest.mark.parametrize(("start", "nranks"), [(torchrun, 1), (torchrun, 3), (real_torchrun, 4)])
def test_ring_is_bit_equal_on_real_ranks(start, nranks):
    done = start("ring.py", nranks)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("equal bit by bit") == 4
    assert "16777216 B" in done.stdout
