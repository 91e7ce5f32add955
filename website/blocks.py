"""Which Python blocks of a page run in the page, what each needs first, and what the others lack.

    python -m website.blocks                     # every page: how many run, and why the others do not
    python -m website.blocks notebooks/ring.ipynb

A block runs where none of its names, looked up as Python would, comes from a package that the page lacks or from a block that does not
run. Names are read off the compiled code, so scopes are Python's own; what a name of the library needs, off the library's.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
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
    "pathlib": "files",
    "open": "files",
}
MUTATES = {"add", "append", "clear", "discard", "extend", "insert", "pop", "remove", "setdefault", "sort", "update"}
MAKES = {"__init__", "__post_init__", "__new__"}
GIVEN = {*dir(builtins), "display", "__name__"}
FENCE = re.compile(r"^( *)```python\n(.*?)^\1```$", re.M | re.S)


@dataclass
class Block:
    """A block that the page shows. number: from 1, in order. output: what it printed; bundles: what it displayed, as saved.

    why: "" of one that runs, else what it lacks ("torch", "ranks", "a name: Transfer"). needs: numbers of the blocks that have to run
    before it. exact: the output is the same on every run.
    """

    number: int
    source: str
    output: str = ""
    bundles: list[dict] = field(default_factory=list)
    exact: bool = True
    why: str = ""
    needs: tuple[int, ...] = ()

    @property
    def runs(self) -> bool:
        """In the page, once those that it needs have run."""
        return not self.why


def pages() -> list[Path]:
    """Every page that may hold a block: labs, then chapters."""
    return [*sorted((ROOT / "notebooks").glob("*.ipynb")), *sorted((ROOT / "book").glob("*.md"))]


def blocks(path: Path) -> list[Block]:
    """The Python blocks of a page, a lab's notebook or a chapter's text, in the order of the page."""
    text = path.read_text(encoding="utf-8")
    return weighed(_cells(json.loads(text)) if path.suffix == ".ipynb" else _fenced(text))


def _cells(lab: dict) -> list[Block]:
    cells = [cell for cell in lab["cells"] if cell["cell_type"] == "code"]
    tags = [cell["metadata"].get("tags", ()) for cell in cells]
    shown = [(cell, own) for cell, own in zip(cells, tags, strict=True) if "remove-cell" not in own]
    return [
        Block(
            number,
            "".join(cell["source"]),
            "".join("".join(one["text"]) for one in cell["outputs"] if one["output_type"] == "stream"),
            [{kind: _joined(data) for kind, data in one["data"].items()} for one in cell["outputs"] if "data" in one],
            "nbval-ignore-output" not in own,
        )
        for number, (cell, own) in enumerate(shown, 1)
    ]


def _joined(data: object) -> object:
    return "".join(data) if isinstance(data, list) else data


def _fenced(text: str) -> list[Block]:
    return [Block(number, found[2]) for number, found in enumerate(FENCE.finditer(text), 1)]


def weighed(found: list[Block]) -> list[Block]:
    """The same blocks, each with its `why` and its `needs`."""
    reads = {block.number: _read(block.source) for block in found}
    bound: dict[str, int] = {}  # a name and the block that gave it its value
    origin: dict[str, str] = {}  # a name that was imported, and what it is
    later = {name for read in reads.values() for name in read.binds}
    by_number = {block.number: block for block in found}
    for block in found:
        read = reads[block.number]
        first = _first(read, bound, reads)
        missing = sorted(read.takes - bound.keys() - GIVEN) + sorted(read.late_names - read.binds - later - GIVEN)
        why = [_lacks(read, origin | read.imports), *(by_number[one].why for one in sorted(first))]
        block.why = next(filter(None, why), f"a name: {missing[0]}" if missing else "")
        block.needs = tuple(sorted({number for one in first for number in (one, *by_number[one].needs)}))
        bound |= dict.fromkeys(read.binds, block.number)
        origin = {name: what for name, what in origin.items() if name not in read.binds} | read.imports
    return found


def _first(read: Read, bound: dict[str, int], reads: dict[int, Read]) -> set[int]:
    """The blocks whose values it takes: by name, and by the names in the functions among them, looked up when they are called."""
    asked, seen = [*read.takes, *(read.late_names - read.binds)], set()
    while asked:
        name = asked.pop()
        if name in bound and name not in seen:
            seen.add(name)
            asked += reads[bound[name]].late.get(name, set()) - read.binds
    return {bound[name] for name in seen}


def _lacks(read: Read, origin: dict[str, str]) -> str:
    """What the block itself lacks."""
    if read.error:
        return read.error
    for first, *rest in sorted(read.chains):
        if reason := lacking(origin[first], *rest) if first in origin else CANNOT.get(first) if first == "open" else "":
            return reason
    return ""


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
def _read(source: str) -> Read:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return Read(error="no plain Python")
    read = Read(imports=_imports(tree))
    read.imports |= _aliases(tree, read.imports)
    code = compile(tree, "block", "exec", dont_inherit=True)
    found = list(_names(code))
    stored = {chain[0]: kind == "store" for kind, chain in reversed(found) if kind != "late"}  # first of all
    read.chains = {chain for kind, chain in found if kind != "store"}
    read.takes = {chain[0] for kind, chain in found if kind == "load" and not stored[chain[0]]} - read.imports.keys()
    for inner in _inside(code):
        read.late.setdefault(inner.co_name, set()).update(chain[0] for _, chain in _names(inner, inside=True))
    read.binds = {chain[0] for kind, chain in found if kind == "store"} | _changed(tree) - read.imports.keys()
    read.binds |= read.imports.keys()
    return read


def _inside(code: CodeType) -> Iterator[CodeType]:
    """The functions and classes of a block's own level; a comprehension runs where it stands."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _inside(one) if one.co_name.endswith("comp>") else [one]


def _names(code: CodeType, inside: bool = False, made: bool = False) -> Iterator[tuple[str, tuple[str, ...]]]:
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
        elif step.opname == "LOAD_CONST" and isinstance(inner := step.argval, CodeType):
            if not (made and is_class and inner.co_name not in MAKES):
                # a comprehension runs where it stands
                yield from _names(inner, inside or not inner.co_name.endswith("comp>"), made)


def _imports(tree: ast.AST) -> dict[str, str]:
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                found[one.asname or one.name.split(".")[0]] = one.name if one.asname else one.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom):
            found |= {one.asname or one.name: f"{node.module}:{one.name}" for one in node.names}
    return found


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
            joined = {name: _resolved(imports[first], *rest) for name, (first, *rest) in parts.items()}
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


def lacking(what: str, *attributes: str) -> str:
    """What "helpers.exercises:ring" or "torch" or helpers.view with the attribute "show" lacks in the page; "" where it has all."""
    module, *names = _resolved(what, *attributes)
    return _absent(module) or (_needed(module, names[0]) if names and _file(module) else "")


def _resolved(what: str, *attributes: str) -> list[str]:
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
    return _imports(tree), {one.co_name: one for one in code.co_consts if isinstance(one, CodeType)}


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
    imports, defined = _library(module)
    chains = {chain for _, chain in _names(defined[name], inside=True, made=True)} if name in defined else {(name,)}
    found = []
    for first, *rest in chains:
        if first in imports:
            target, *names = _resolved(imports[first], *rest)
            if reason := _absent(target):
                return reason, []
            found += [(target, names[0])] if names and _file(target) else []
        elif first in defined:
            found.append((module, first))
    return "", found


def _table() -> Iterator[str]:
    every = {path: blocks(path) for path in pages()}
    for path, found in every.items():
        lacked = Counter(block.why for block in found if not block.runs)
        if found:
            told = ", ".join(f"{many} {why}" for why, many in lacked.most_common())
            yield f"{path.relative_to(ROOT)}: {sum(block.runs for block in found)} of {len(found)} run" + (
                f"; lacking {told}" if told else ""
            )
    runs = [block for found in every.values() for block in found if block.runs]
    yield f"{len(runs)} of {sum(map(len, every.values()))} blocks run in the page"


def main(arguments: list[str]) -> None:
    """The table of all pages, or every block of one."""
    if not arguments:
        print("\n".join(_table()))
    for block in blocks(Path(arguments[0])) if arguments else ():
        first = next(iter(block.source.strip().splitlines()), "")
        after = f", after {', '.join(map(str, block.needs))}" if block.needs else ""
        print(f"{block.number:3} {'runs' + after if block.runs else 'needs ' + block.why}: {first}")


if __name__ == "__main__":
    main(sys.argv[1:])
