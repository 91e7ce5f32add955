"""One meaning a name: what two packages of the library hand on by one name is one thing; and what words name is there."""

import importlib
import pkgutil
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

import helpers

ROOT = Path(__file__).resolve().parent.parent


def handed_on(packages: dict[str, object]) -> dict[str, dict[str, object]]:
    """{name: {package: what it is there}} of every name in the __all__ of these packages."""
    found: dict[str, dict[str, object]] = defaultdict(dict)
    for package, module in packages.items():
        for name in getattr(module, "__all__", ()):
            found[name][package] = getattr(module, name)
    return found


def ambiguous(packages: dict[str, object]) -> dict[str, list[str]]:
    """{name: packages} where the things are not the same."""
    names = handed_on(packages)
    return {name: sorted(at) for name, at in names.items() if len({id(thing) for thing in at.values()}) > 1}


@pytest.fixture(scope="module")
def packages() -> dict[str, object]:
    """The packages that notebooks import from; memory's rooms are among them."""
    found = [m.name for m in pkgutil.walk_packages(helpers.__path__, "helpers.") if m.ispkg]
    names = [name for name in found if name.count(".") == 1 or name.startswith("helpers.memory.")]
    return {name: importlib.import_module(name) for name in names}


def test_no_name_means_two_things(packages):
    assert len(packages) >= 10 and len(handed_on(packages)) > 150
    assert ambiguous(packages) == {}


def test_a_second_meaning_is_found(packages):
    class Price:
        """Of something else."""

    other = type(
        "package", (), {"__all__": ["Price", "check"], "Price": Price, "check": packages["helpers.collectives"].check}
    )
    assert ambiguous(packages | {"other": other}) == {"Price": ["helpers.collectives", "other"]}


# What of these readers and contributors read
READ = ("helpers", "website", "tools", "benchmarks", "scripts", "assets", "book")
NAMED = re.compile(r"(?<![\w/.-])helpers(?:(?:/[\w-]+)+\.\w+|(?:\.[A-Za-z_]\w*)+)")


def is_there(name: str) -> bool:
    """A file "helpers/units.py"; or "helpers.units.GIB": modules as far as they go, and in the last of them the next word."""
    if "/" in name:
        return (ROOT / name).exists()
    parts = name.split(".")
    for depth in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:depth])
        if files := [path / "__init__.py"] if path.is_dir() else sorted(path.parent.glob(f"{path.name}.*")):
            return depth == len(parts) or bool(re.search(rf"\b{parts[depth]}\b", files[0].read_text()))
    return False


def stale(text: str) -> list[str]:
    return [found[0] for found in NAMED.finditer(text) if not is_there(found[0])]


def test_what_words_name_of_the_library_is_there():
    listed = subprocess.run(
        ["git", "ls-files", *READ, "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    paths = [name for name in listed.splitlines() if Path(name).suffix in (".py", ".mjs", ".css", ".toml", ".md")]
    paths = [name for name in paths if "/vendor/" not in name and name != "CHANGELOG.md"]  # which tells of what was
    assert {name: gone for name in paths if (gone := stale((ROOT / name).read_text()))} == {}
    assert stale("see helpers.view.tokens, helpers/view/gone.py, helpers.units.GIB and helpers/units.py") == [
        "helpers.view.tokens",
        "helpers/view/gone.py",
    ]
