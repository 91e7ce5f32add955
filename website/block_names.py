"""What a block says, read off its compiled code: which names it takes, which it gives a value, what it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from types import CodeType

from website.lacking import imports_of, looked_up, resolved

MUTATES = {"add", "append", "clear", "discard", "extend", "insert", "pop", "remove", "setdefault", "sort", "update"}


@dataclass
class Read:
    """What a block says. takes: names that it looks up before it binds them; late: those that each of its functions looks up when
    called; binds: those it gives a value, or changes. imports: name -> "helpers.view:show" or "helpers.facts". chains: names with the
    attributes behind them. error: no Python.
    """

    takes: set[str] = field(default_factory=set)
    late: dict[str, set[str]] = field(default_factory=dict)
    binds: set[str] = field(default_factory=set)
    imports: dict[str, str] = field(default_factory=dict)
    chains: set[tuple[str, ...]] = field(default_factory=set)
    error: str = ""

    @property
    def late_names(self) -> set[str]:
        """Those of all its functions."""
        return set().union(*self.late.values())


@cache
def read_block(source: str) -> Read:
    """The same for the same text; treat as read-only."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return Read(error="no plain Python")
    read = Read(imports=imports_of(tree))
    read.imports |= _aliases(tree, read.imports)
    code = compile(tree, "block", "exec", dont_inherit=True)
    found = list(looked_up(code))
    stored = {chain[0]: kind == "store" for kind, chain in reversed(found) if kind != "late"}  # first of all
    read.chains = {chain for kind, chain in found if kind != "store"}
    read.takes = {chain[0] for kind, chain in found if kind == "load" and not stored[chain[0]]} - read.imports.keys()
    for inner in _inside(code):
        read.late.setdefault(inner.co_name, set()).update(chain[0] for _, chain in looked_up(inner, inside=True))
    read.binds = {chain[0] for kind, chain in found if kind == "store"} | _changed(tree) - read.imports.keys()
    read.binds |= read.imports.keys()
    return read


def _inside(code: CodeType) -> Iterator[CodeType]:
    """The functions and classes of a block's own level; a comprehension runs where it stands."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _inside(one) if one.co_name.endswith("comp>") else [one]


def _aliases(tree: ast.Module, imports: dict[str, str]) -> dict[str, str]:
    """What a block only names anew, as in f = package.f; these statements are taken out of it, for they ask nothing of f."""
    found = {}
    for node in [node for node in tree.body if isinstance(node, ast.Assign) and len(node.targets) == 1]:
        pair = (node.targets[0], node.value)
        both = (
            zip(*(one.elts for one in pair), strict=False)
            if all(isinstance(one, ast.Tuple) for one in pair)
            else [pair]
        )
        named = {ast.unparse(target): ast.unparse(value) for target, value in both}
        parts = {name: what.split(".") for name, what in named.items()}
        if all(first in imports and rest and all(map(str.isidentifier, rest)) for first, *rest in parts.values()):
            tree.body.remove(node)
            joined = {name: resolved(imports[first], *rest) for name, (first, *rest) in parts.items()}
            found |= {name: ":".join([module, ".".join(rest)]) for name, (module, *rest) in joined.items()}
    return found


def _changed(tree: ast.AST) -> set[str]:
    """Names whose value a block changes in place: x[...] = 1, x.y = 1, x.append(1)."""
    stored = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    called = [
        node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    stored += [one.value for one in called if one.attr in MUTATES]
    return {node.id for node in stored if isinstance(node, ast.Name)}
