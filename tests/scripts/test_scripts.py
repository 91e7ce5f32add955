"""What a reader takes home: each script is one plain file for python or torchrun, short, without `helpers`, and runs."""

import ast
import re
from pathlib import Path

import pytest
from lanes import some
from torchrun import real_torchrun, sound, torchrun

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))
RENAMED = {"reduce_scatter_tensor", "all_gather_into_tensor"}  # torch 2.13 warns about these names on every rank


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_is_plain_and_short(script):
    text = script.read_text()
    assert len(text.splitlines()) <= 80
    assert not re.search(r"^\s*(from|import) helpers", text, re.M)
    how = f"torchrun --nproc-per-node 4 scripts/{script.name}", f"python scripts/{script.name}"
    assert any(words in text for words in how), "the first lines say how to run it"
    assert (ROOT / "book" / f"{script.stem}.md").exists(), "a script belongs to a chapter"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_one_line_does_one_thing(script):
    """No assignment inside an expression, no two statements in a line, no call that torch warns about."""
    tree = ast.parse(script.read_text())
    for node in ast.walk(tree):
        assert not isinstance(node, ast.NamedExpr), f"line {node.lineno}: an assignment inside an expression"
        assert not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") in RENAMED), f"line {node.lineno}"
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            lines = [statement.lineno for statement in body] if isinstance(body, list) else []
            assert len(lines) == len(set(lines)), f"line {lines[0]}: two statements in a line"


def test_all_ranks_are_set_up_alike():
    """One set_up in all that torchrun starts, the one that the chapter on ranks recommends; nobody joins a group beside it."""
    torchruns = [script for script in SCRIPTS if "torchrun" in script.read_text().split('"""')[1]]
    assert len(torchruns) == 24
    found = {}
    for script in torchruns:
        text = script.read_text()
        functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
        found[script.stem] = ast.get_source_segment(text, functions["set_up"])
        assert text.count("init_process_group") == 1, script.stem
    assert set(found.values()) == {found["ranks"]}
    recommended = (ROOT / "book/ranks.md").read_text()
    for words in ("set_device", "device_id"):
        assert words in found["ranks"] and words in recommended


@pytest.mark.parametrize(("start", "nranks"), [(torchrun, 1), (torchrun, 3), (real_torchrun, 2)])
def test_ring_is_bit_equal_on_real_ranks(start, nranks):
    done = sound(start("ring.py", nranks))
    assert done.stdout.count("equal bit by bit") == 4
    assert "16777216 B" in done.stdout


@pytest.mark.parametrize("start", some([torchrun, real_torchrun], [torchrun], "a warning under torchrun for real"))
def test_a_call_that_is_to_go_fails_here(start, tmp_path):
    """What keeps the scripts' tests honest: under them, a warning of a deprecation ends the job."""
    old = tmp_path / "old.py"
    text = (ROOT / "scripts/ranks.py").read_text()
    old.write_text(
        text.replace("    device = set_up()\n", '    warnings.warn("old", FutureWarning)\n').replace(
            "import os", "import os, warnings"
        )
    )
    done = start(old, 1)
    assert done.returncode != 0 and "FutureWarning: old" in done.stderr
