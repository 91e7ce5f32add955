"""A cell that is copied does what it shows: whatever a state holds stands there as a literal, in the calls that any other text makes."""

from __future__ import annotations

import ast
import re

import pytest

from helpers.view.shared.widget import VIEW

PLAIN = "plain"
MARKS = [
    '"',
    "'",
    '"""',
    "\\",
    '\\"',
    "\n",
    "\r",
    "a\n\nb",
    "\u2028",
    "\u202e",
    "\x00",
    "\ud800",
    "{x}",
    "__proto__",
    "é⇒",
]
BEYOND = {"watch", "yours"}  # nothing to copy; a cell in which nothing of the reader's stands
ALLOWED = (ast.Module, ast.ImportFrom, ast.alias, ast.Expr, ast.Assign, ast.Call, ast.keyword, ast.Name, ast.Attribute,
           ast.Subscript, ast.Constant, ast.List, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load, ast.Store)  # fmt: skip


@pytest.fixture(scope="module")
def cells(play) -> list[dict[str, list[str]]]:
    """Of the plain text and of every mark: the cells of each widget."""
    return play("copied", {"marks": [PLAIN, *MARKS]})


def test_a_mark_makes_the_calls_that_a_plain_word_makes(cells):
    plain, *marked = cells
    for mark, found in zip(MARKS, marked, strict=True):
        for name, texts in found.items():
            for text, other in zip(texts, plain[name], strict=True):
                assert ast.dump(ast.parse(text)) == ast.dump(with_mark(other, mark)), (name, mark, text)


def with_mark(cell: str, mark: str) -> ast.Module:
    """The cell of the plain word, its literals with the mark in its place."""
    tree = ast.parse(cell)
    assert {type(one) for one in ast.walk(tree)} <= set(ALLOWED)
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            one.value = one.value.replace(PLAIN, mark)
    return tree


def test_every_widget_that_offers_python_is_among_them(cells):
    offers = re.compile(r"(?:export (?:const|function) python\b|Copy as Python)")
    rooms = {
        path.relative_to(VIEW).parts[0]
        for path in VIEW.rglob("*.mjs")
        if offers.search(path.read_text(encoding="utf-8"))
    }
    assert rooms - {"shared"} - BEYOND == set(cells[0])
