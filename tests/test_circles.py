"""No import of the library runs in a circle: also not through an import inside a function, or one for types alone.

Such an import hides a circle from Python, not from the reader. That a module's package is imported before it does not count.
"""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def modules(root: Path, package: str) -> dict[str, Path]:
    """{dotted name: file} of every module in a package; a package itself is its __init__.py."""
    files = sorted((root / package.replace(".", "/")).rglob("*.py"))
    names = [".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__") for path in files]
    return dict(zip(names, files, strict=True))


def imported(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of ours that this one names in an import, wherever it stands."""
    found: set[str] = set()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            parts = {f"{source}.{alias.name}" for alias in node.names}
            found |= parts & known.keys()
            found |= {source} if parts - known.keys() else set()  # a name that the module itself has
    return (found & known.keys()) - {name}


def circle(root: Path, package: str) -> list[str]:
    """Modules that import each other in a circle, the first again at the end; none where there is no circle."""
    known = modules(root, package)
    try:
        TopologicalSorter({name: imported(name, path, known) for name, path in known.items()}).prepare()
    except CycleError as error:
        return error.args[1]
    return []


@pytest.mark.parametrize("package", ["helpers", "website", "tools"])
def test_no_import_runs_in_a_circle(package):
    assert len(modules(ROOT, package)) > 10
    assert " -> ".join(circle(ROOT, package)) == ""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("def f():\n    from .a import g", True),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.a import g", True),
        ("import house.a", True),
        ("from . import a", True),
        ("from .. import house", False),
        ("from .c import g", False),
    ],
)
def test_a_hidden_circle_is_found(tmp_path, line, found):
    house = tmp_path / "house"
    house.mkdir()
    (house / "__init__.py").write_text("from .b import f\n")
    (house / "a.py").write_text("from .b import f\ng = 1\n")
    (house / "b.py").write_text(f"{line}\nf = 1\n")
    (house / "c.py").write_text("g = 2\n")
    circled = circle(tmp_path, "house")
    assert (
        re.fullmatch(r"house\.(a|b) -> house\.(a|b) -> house\.(a|b)", " -> ".join(circled)) if found else circled == []
    )
