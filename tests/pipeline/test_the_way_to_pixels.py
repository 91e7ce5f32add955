"""How many files stand between a line of prose, `{pipeline}`, and what it draws: who adds to a schedule has to know these."""

from __future__ import annotations

import ast
from pathlib import Path

from helpers.view.shared.bundle import _in_order
from helpers.view.widgets import line

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("helpers/pipeline", "helpers/view/pipeline")


def imported(path: Path) -> list[Path]:
    """Files of ours that a module of Python imports: of a package the module that its `__init__` has a name from."""
    package = path.relative_to(ROOT).parts[:-1]
    nodes = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    found = []
    for node in nodes:
        above = package[: len(package) + 1 - node.level] if node.level else ()
        module = Path(ROOT, *above, *(node.module or "").split("."))
        found += [file for alias in node.names if (file := _file(module, alias.name))]
    return found


def _file(module: Path, name: str) -> Path | None:
    for path in (module / f"{name}.py", module.with_suffix(".py")):
        if path.is_file():
            return path
    start = module / "__init__.py"
    if not start.is_file() or ROOT / "helpers" not in start.parents:
        return None
    told = [node for node in ast.parse(start.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    hands = [node for node in told if any((alias.asname or alias.name) == name for alias in node.names)]
    return (
        _file(module / hands[0].module if hands[0].level else Path(ROOT, *hands[0].module.split(".")), name)
        if hands
        else None
    )


def reached(path: Path, found: set[Path]) -> set[Path]:
    """A module of Python and all that it needs."""
    if path not in found:
        found.add(path)
        for other in imported(path):
            reached(other, found)
    return found


def test_the_way_to_pixels_is_short():
    """All files that are opened: modules of Python behind the directive's page.py, of JavaScript in the bundle, and sheets.

    Left out are the builder, which renders every widget (`website`), and each `__init__` that only hands names on. At most 15 are the
    pipeline's own; the others are shared with other widgets or belong to helpers.collectives, and are counted, too.
    """
    widget = line("pipeline")
    opened = {*reached(widget.folder / "page.py", set()), *_in_order(widget.entry.resolve(), [], ()), *widget.sheets}
    names = sorted(path.relative_to(ROOT).as_posix() for path in opened)
    assert {"helpers/pipeline/orders.py", "helpers/view/shared/mount.py", "helpers/collectives/rendezvous.py"} <= {
        *names
    }
    own = [name for name in names if name.rpartition("/")[0] in ROOMS]
    assert len(own) <= 15, own
    assert len(names) <= 33, names
