"""Where a fault can be planted, named so that the place is found again after moves, reformatting and changes elsewhere."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, replace

from tools.mutation import operators

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
CONDITIONED = (ast.If, ast.While, ast.IfExp)
SKIPPED = (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.pattern)  # text for people, names, shapes


@dataclass(frozen=True)
class Point:
    """One fault at one place. statement: its text on one line, only the head of a compound one. nth: which of the equal
    statements of the function; which: which of the equal faults in the statement."""

    path: str
    function: str
    statement: str
    nth: int
    operator: str
    expression: str
    becomes: str
    which: int = 0


@dataclass(frozen=True)
class Place:
    """A point in one text: the bytes it replaces, and by what, with as many line ends."""

    point: Point
    start: int
    end: int
    text: str


def places(source: str, path: str = "") -> list[Place]:
    """Every fault that can be planted in a text, in the order of the text."""
    walk = _Walk(source, path)
    walk.block(ast.parse(source).body, "")
    return walk.found


def planted(source: str, place: Place) -> str:
    """The text with the fault in it; every other line keeps its number."""
    data = source.encode()
    return (data[: place.start] + place.text.encode() + data[place.end :]).decode()


class _Walk:
    """Goes through statements, knowing the function and the statement it is in."""

    def __init__(self, source: str, path: str):
        self.path, self.found = path, []
        self.lines = [0]
        for line in source.encode().splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.statements: Counter = Counter()
        self.here = Point(path, "", "", 0, "", "", "")
        self.faults: Counter = Counter()

    def block(self, body: list[ast.stmt], function: str) -> None:
        for node in body:
            self.statement(node, function)

    def statement(self, node: ast.stmt, function: str) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "__name__ == '__main__'"):
            return
        named = isinstance(node, (*FUNCTIONS, ast.ClassDef))
        inner = f"{function}.{node.name}".lstrip(".") if named else function
        self.enter(head(node), inner)
        self.add(operators.statement(node), node)
        if isinstance(node, CONDITIONED):
            self.add(operators.condition(node.test), node.test)
        for child in parts(node):
            self.expression(child)
        below = f"{inner}.<locals>" if isinstance(node, FUNCTIONS) else inner
        for body in blocks(node):
            self.block(body, below if named else function)

    def enter(self, text: str, function: str) -> None:
        nth = self.statements[function, text]
        self.statements[function, text] += 1
        self.here = Point(self.path, function.replace(".<locals>", ""), text, nth, "", "", "")
        self.faults = Counter()

    def expression(self, node: ast.AST) -> None:
        if isinstance(node, SKIPPED):
            return
        if isinstance(node, ast.expr):
            self.add(operators.of_expression(node), node)
        if isinstance(node, CONDITIONED):
            self.add(operators.condition(node.test), node.test)
        for test in getattr(node, "ifs", []):
            self.add(operators.condition(test), test)
        for child in ast.iter_child_nodes(node):
            if not _is_annotation(node, child):
                self.expression(child)

    def add(self, variants, node: ast.AST) -> None:
        for operator, other in variants:
            point = replace(self.here, operator=operator, expression=ast.unparse(node), becomes=ast.unparse(other))
            which = self.faults[point]
            self.faults[point] += 1
            start, end = (self.lines[row - 1] + column for row, column in _ends(node))
            self.found.append(Place(replace(point, which=which), start, end, _text(other, node)))


def _ends(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _text(other: ast.AST, node: ast.AST) -> str:
    text, rows = ast.unparse(ast.fix_missing_locations(other)), "\n" * (node.end_lineno - node.lineno)
    return f"({text}{rows})" if isinstance(other, ast.expr) else f"{text}{rows}"


def _is_annotation(node: ast.AST, child: ast.AST) -> bool:
    return child in (getattr(node, "annotation", None), getattr(node, "returns", None))


def blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The statements inside a statement."""
    own = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
    return own + [each.body for each in (*getattr(node, "handlers", []), *getattr(node, "cases", []))]


def parts(node: ast.stmt) -> list[ast.AST]:
    """What a statement holds of itself: its expressions, without inner statements and annotations."""
    inner = {id(each) for body in blocks(node) for each in body}
    mine = [each for each in ast.iter_child_nodes(node) if id(each) not in inner and not _is_annotation(node, each)]
    return [part for each in mine for part in _heads(each)]


def _heads(node: ast.AST) -> list[ast.AST]:
    """An except clause or a case holds statements, too; only what it asks is of the statement's head."""
    if isinstance(node, ast.excepthandler):
        return [node.type] if node.type else []
    if isinstance(node, ast.match_case):
        return [node.guard] if node.guard else []
    return [node]


def head(node: ast.stmt) -> str:
    """The statement on one line; of a compound one what stands before its first inner statement."""
    bodies = [body for body in blocks(node) if body]
    if not bodies:
        return ast.unparse(node)
    return " ".join(f"{type(node).__name__} {', '.join(ast.unparse(part) for part in parts(node))}".split())
