"""Patches of torch stand in one table: nothing else in the library replaces what is not ours, and each home is real."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from helpers.patches import PATCHES, TORCH, Patch

ROOT = Path(__file__).resolve().parent.parent
THEIRS = {
    "torch",
    "dist",
    "c10d",
    "functional",
    "spawn",
    "optimizer",
    "Optimizer",
    "DistributedDataParallel",
    "nn",
    "Tensor",
}
# setattr on what is ours, or the reader's: a stream that a call has closed, a layer of a model.
OWN = {"worker/life.py": "sys", "sharding/moves.py": "inner", "step/checkpointing.py": "module"}


def sources() -> list[Path]:
    return [path for path in (ROOT / "helpers").rglob("*.py") if path.name != "patches.py"]


def replaced(tree: ast.AST) -> list[str]:
    """What a file sets an attribute of, where that is not `self`'s or a local object's of ours: "setattr(x)" or "torch.a.b = "."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "mock.patch.object", "mock.patch"):
            found.append(f"{ast.unparse(node.func)}({ast.unparse(node.args[0])})")
        targets = node.targets if isinstance(node, ast.Assign) else []
        flat = [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
        found += [ast.unparse(one) for one in flat if isinstance(one, ast.Attribute) and _root(one) in THEIRS]
    return found


def _root(node: ast.expr) -> str:
    return ast.unparse(node).partition(".")[0]


def test_nothing_is_replaced_outside_the_table():
    found = {path: what for path in sources() if (what := replaced(ast.parse(path.read_text())))}
    odd = {str(path.relative_to(ROOT)): what for path, what in found.items()}
    allowed = {f"setattr({owner})" for owner in OWN.values()}
    assert {name: what for name, what in odd.items() if not set(what) <= allowed} == {}
    assert {end for end in OWN if any(name.endswith(end) for name in odd)} == set(OWN), "no exception is left over"


def test_the_search_sees_every_way_of_replacing():
    seen = replaced(
        ast.parse("torch.cuda.a, dist.b = 1, 2\nsetattr(c10d, 'x', y)\nself.torch = 1\nmock.patch.object(nn, 'z')")
    )
    assert sorted(seen) == ["dist.b", "mock.patch.object(nn)", "setattr(c10d)", "torch.cuda.a"]


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.home.rpartition(".")[2])
def test_each_has_a_home_that_uses_it(patch):
    source = Path(importlib.import_module(patch.home).__file__).read_text()
    names = re.search(r"^from helpers.patches import (.*)$", source, re.M)[1].split(", ")
    assert any(getattr(importlib.import_module("helpers.patches"), name) is patch for name in names)
    assert patch.what and patch.why


def test_the_version_that_was_read_is_the_one_that_is_pinned():
    """A new pin: read the originals of the table again, then write its version there."""
    assert f"torch=={TORCH} " in (ROOT / "requirements.txt").read_text()


def test_a_patch_replaces_what_is_there_and_can_be_taken_back():
    class Base:
        def method(self):
            return "theirs"

    class Derived(Base):
        pass

    patch = Patch("Derived.method", "a test", __name__)
    with patch.during(Derived, "method", lambda self: "ours"):
        assert Derived().method() == "ours" and Base().method() == "theirs"
    assert Derived().method() == "theirs" and "method" not in vars(Derived)
    with pytest.raises(AttributeError, match="gone"):
        patch.put(Derived, "gone", None)
    patch.put(Derived, "method", lambda self: "ours")
    assert Derived().method() == "ours"
