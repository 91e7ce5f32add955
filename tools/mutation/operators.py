"""Small faults: what an expression or a statement could have been by mistake. Each operator is a function from a node to its variants."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

Variant = tuple[str, ast.AST]  # the operator's name, and what stands there instead

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
NAMES = {"max": "min", "min": "max", "any": "all", "all": "any"}


def _with(node: ast.AST, **changes) -> ast.AST:
    """A copy of the node that differs in some fields."""
    return ast.copy_location(type(node)(**{**dict(ast.iter_fields(copy.deepcopy(node))), **changes}), node)


def comparison(node: ast.AST) -> Iterator[Variant]:
    if isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                yield "comparison", _with(node, ops=[*node.ops[:index], other(), *node.ops[index + 1 :]])


def arithmetic(node: ast.AST) -> Iterator[Variant]:
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield "arithmetic", _with(node, op=ARITHMETIC[type(node.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield "minus dropped", node.operand


def boolean(node: ast.AST) -> Iterator[Variant]:
    if isinstance(node, ast.BoolOp):
        yield "and/or", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not dropped", node.operand


def constant(node: ast.AST) -> Iterator[Variant]:
    """Whole numbers move by one, others double, truth turns round. Words are left: they are read by people."""
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int):
        yield from (("constant", ast.Constant(value + step)) for step in (1, -1))
    elif isinstance(value, float):
        yield "constant", ast.Constant(2 * value if value else 1.0)


def call(node: ast.AST) -> Iterator[Variant]:
    """The first two arguments change places, a named argument is forgotten, max is min."""
    if not isinstance(node, ast.Call):
        return
    first = node.args[:2]
    if len(first) == 2 and not any(isinstance(each, ast.Starred) for each in first):
        yield "arguments swapped", _with(node, args=[first[1], first[0], *node.args[2:]])
    for index, keyword in enumerate(node.keywords):
        if keyword.arg:
            yield "argument dropped", _with(node, keywords=[*node.keywords[:index], *node.keywords[index + 1 :]])
    if isinstance(node.func, ast.Name) and node.func.id in NAMES:
        yield "max/min", _with(node, func=ast.Name(NAMES[node.func.id], ast.Load()))


def condition(test: ast.AST) -> Iterator[Variant]:
    """What `if`, `while` or a filter asks, turned round, where no comparison or `not` in it already is."""
    plain = isinstance(test, ast.Compare) and len(test.ops) == 1
    if not plain and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
        yield "condition turned round", ast.UnaryOp(ast.Not(), test)


def statement(node: ast.AST) -> Iterator[Variant]:
    """A statement is forgotten; a function gives nothing back; a loop goes on instead of ending."""
    if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
        yield "call dropped", ast.Pass()
    elif isinstance(node, ast.Raise):
        yield "raise dropped", ast.Pass()
    elif isinstance(node, ast.AugAssign | ast.Delete | ast.Assert) or _stores(node):
        yield "statement dropped", ast.Pass()
    elif isinstance(node, ast.Return) and node.value and getattr(node.value, "value", ...) is not None:
        yield "value dropped", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Break | ast.Continue):
        yield "break/continue", ast.Continue() if isinstance(node, ast.Break) else ast.Break()


def _stores(node: ast.AST) -> bool:
    """Whether it only sets a field or an item: forgetting a name's first value fails at its first use, whoever looks."""
    return isinstance(node, ast.Assign) and all(
        isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets
    )


OF_EXPRESSIONS = (comparison, arithmetic, boolean, constant, call)


def of_expression(node: ast.AST) -> Iterator[Variant]:
    """Every variant of an expression that changes its text."""
    before = ast.unparse(node)
    for operator in OF_EXPRESSIONS:
        yield from ((name, other) for name, other in operator(node) if ast.unparse(other) != before)
