"""Floors 1 and 2 are typed, strictly: `make test` runs mypy on them. Here: on which files, and what it is told to overlook."""

import re
import tomllib
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

import pytest
from test_floors import FLOOR

from tools.suite import STYLE

ROOT = Path(__file__).resolve().parent.parent
MYPY = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
LIMIT = 10
IGNORE = re.compile(r"#\s*type:\s*ignore.*|#\s*mypy:.*")
REASONED = re.compile(r"#\s*type: ignore\[[a-z-]+(, [a-z-]+)*\]  # \w.{9,}")


def ignores(text: str) -> list[str]:
    """What mypy is told to overlook, to the end of each line."""
    return IGNORE.findall(text)


def checked() -> list[Path]:
    """The files that mypy is given."""
    return [path for name in MYPY["files"] for path in [ROOT / name, *(ROOT / name).rglob("*.py")] if path.is_file()]


def test_it_is_strict_on_all_of_both_floors_and_in_make_test():
    names = {f"helpers/{name}" for name, floor in FLOOR.items() if floor < 3}
    own = {f"{name}.py" if (ROOT / f"{name}.py").exists() else name for name in names}
    assert set(MYPY["files"]) == {name for name in own if (ROOT / name).exists()}
    assert {key for key in MYPY if key not in ("files", "enable_error_code")} == {"strict"} and MYPY["strict"] is True
    assert ("mypy",) in STYLE


def test_few_lines_are_overlooked_and_each_says_why():
    found = {path.name: ignores(path.read_text()) for path in checked()}
    assert len(found) > 60
    lines = [line for kept in found.values() for line in kept]
    assert len(lines) <= LIMIT
    assert [line for line in lines if not REASONED.fullmatch(line)] == []


@pytest.mark.parametrize(
    ("line", "reasoned"),
    [
        ("x = f()  # type: ignore[arg-type]  # numpy types this wider than it is", True),
        ("x = f()  # type: ignore[arg-type]", False),
        ("x = f()  # type: ignore  # numpy types this wider than it is", False),
        ("# mypy: ignore-errors", False),
    ],
)
def test_a_line_without_a_code_or_a_reason_is_found(line, reasoned):
    (found,) = ignores(line)
    assert bool(REASONED.fullmatch(found)) == reasoned


def test_plain_data_stays_as_it_was_made():
    """Every dataclass of the floors is frozen: a schedule, a price or a fact that two readers share is the same for both."""
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in checked()]
    found = {each for name in names for each in vars(import_module(name)).values() if is_dataclass(each)}
    assert len(found) > 40
    assert [each.__qualname__ for each in found if not each.__dataclass_params__.frozen] == []
