"""What a name lacks in a page: read off the library's own code, from what it imports and what it calls."""

from __future__ import annotations

import ast
import dis
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType

from helpers.page.absent import lacks

ROOT = Path(__file__).resolve().parent.parent
# What a page has, but cannot do.
CANNOT = {
    "threading": "threads",
    "concurrent": "threads",
    "multiprocessing": "processes",
    "subprocess": "processes",
}
FILES = {"pathlib", "open"}  # a block that says so reads a file of the lab's; the library's own files are there
MAKES = {"__init__", "__post_init__", "__new__"}


def looked_up(code: CodeType, inside: bool = False, made: bool = False) -> Iterator[tuple[str, tuple[str, ...]]]:
    """("load" | "late" | "store", (name, *attributes)) in the order of the code; late: in a function, looked up when it is called.

    made: of classes no methods but those that make one; what the others lack is told whoever calls them.
    """
    is_class = not code.co_flags & inspect.CO_OPTIMIZED
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "PUSH_NULL", "EXTENDED_ARG")]
    own = {step.argval for step in steps if step.opname == "STORE_NAME"} if inside else set()
    for i, step in enumerate(steps):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL") and step.argval not in own:
            chain = [step.argval]
            for after in steps[i + 1 :]:
                if after.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                    break
                chain.append(after.argval)
            yield ("late" if inside else "load"), tuple(chain)
        elif step.opname in ("STORE_NAME", "STORE_GLOBAL") and not inside:
            yield "store", (step.argval,)
        elif isinstance(inner := step.argval, CodeType) and not (made and is_class and inner.co_name not in MAKES):
            # a comprehension runs where it stands
            yield from looked_up(inner, inside or not inner.co_name.endswith("comp>"), made)


def imports_of(tree: ast.AST) -> dict[str, str]:
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                found[one.asname or one.name.split(".")[0]] = one.name if one.asname else one.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom):
            found |= {one.asname or one.name: f"{node.module}:{one.name}" for one in node.names}
    return found


def lacking(what: str, *attributes: str) -> str:
    """What "helpers.exercises:ring" or "torch" or helpers.view with the attribute "show" lacks in the page; "" where it has all."""
    module, *names = resolved(what, *attributes)
    if module in FILES:
        return "files"
    return _absent(module) or (_needed(module, names[0]) if names and _file(module) else "")


def resolved(what: str, *attributes: str) -> list[str]:
    """The module, and the names behind it: "helpers:facts", "fit" is helpers.facts.fit."""
    module, _, name = what.partition(":")
    names = [*filter(None, name.split(".")), *attributes]
    while names and module.startswith("helpers") and _file(f"{module}.{names[0]}"):
        module = f"{module}.{names.pop(0)}"
    return [module, *names]


def _absent(module: str) -> str:
    return lacks(module) or CANNOT.get(module.split(".")[0], "")


@cache
def _file(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    return next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)


@cache
def _library(module: str) -> tuple[dict[str, str], dict[str, CodeType]]:
    """A module of the library: what it imports, and the code of what it defines."""
    path = _file(module)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            above = package[: len(package) - node.level + 1]
            node.module, node.level = ".".join([*above, node.module] if node.module else above), 0
    code = compile(tree, path.name, "exec", dont_inherit=True)
    return imports_of(tree), {one.co_name: one for one in code.co_consts if isinstance(one, CodeType)}


def _needed(module: str, name: str) -> str:
    """What a function or class of the library lacks, in itself or in what it calls."""
    asked, seen = [(module, name)], set()
    while asked:
        if (one := asked.pop()) in seen:
            continue
        seen.add(one)
        reason, more = _uses(*one)
        if reason:
            return reason
        asked += more
    return ""


@cache
def _uses(module: str, name: str) -> tuple[str, list[tuple[str, str]]]:
    """(what it lacks in itself, what of the library it calls)."""
    known, defined = _library(module)
    chains = {chain for _, chain in looked_up(defined[name], inside=True, made=True)} if name in defined else {(name,)}
    found = []
    for first, *rest in sorted(chains):
        if first in known:
            target, *names = resolved(known[first], *rest)
            if reason := _absent(target):
                return reason, []
            found += [(target, names[0])] if names and _file(target) else []
        elif first in defined:
            found.append((module, first))
    return "", found
