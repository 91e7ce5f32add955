"""Which tests run which function, and what each costs: found once by running them all, with every process of theirs watched."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tools.mutation.points import Point


@dataclass
class Reach:
    """seconds: what each passing test costs. by: the tests that run a function, by (path in the tree, name)."""

    seconds: dict[str, float] = field(default_factory=dict)
    by: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))

    def read(self, folder: Path) -> None:
        """Add what a watched run left in a folder."""
        numbers, failed = {}, set()
        for line in map(json.loads, (folder / "said.jsonl").read_text().splitlines()):
            if "began" in line:
                numbers[line["number"]] = line["test"]
            elif "when" in line:
                self.seconds[line["test"]] = self.seconds.get(line["test"], 0.0) + line["seconds"]
                failed |= {line["test"]} - ({line["test"]} if line["outcome"] == "passed" else set())
        for test in failed:
            del self.seconds[test]
        for line in (folder / "reached").read_text().splitlines():
            number, path, name = line.split("\t")
            if numbers.get(int(number)) in self.seconds:
                self.by[f"helpers/{path}", plain(name)].add(numbers[int(number)])

    def forget(self, dearest: float) -> None:
        """Leave out the tests that cost more seconds."""
        self.seconds = {test: seconds for test, seconds in self.seconds.items() if seconds <= dearest}
        self.by = {where: {test for test in tests if test in self.seconds} for where, tests in self.by.items()}

    def stages(self, point: Point, tree: Path, folders: tuple[str, ...]) -> list[list[str]]:
        """The tests to try, in stages: those of the package that reach it, the others that do, then their neighbours.

        A neighbour is a test of a file in which another reaches it: what a fixture or a cache made for the first serves all.
        """
        first = self._direct(point, tree)
        neighbours = {test.split("::")[0] for test in first}
        others = {test for test in self.seconds if test.split("::")[0] in neighbours} - first
        home = f"tests/{Path(point.path).parts[1].removesuffix('.py')}/"
        near = {test for test in first if test.startswith(home)}
        allowed = tuple(f"tests/{folder}/" for folder in folders)
        stages = ([test for test in stage if test.startswith(allowed)] for stage in (near, first - near, others))
        return [sorted(stage, key=lambda test: (self.seconds[test], test)) for stage in stages if stage]

    def _direct(self, point: Point, tree: Path) -> set[str]:
        """The tests that run the function; of what runs at import those that run anything of its file, or of one that imports it."""
        at_import = not point.function.split(".")[-1].lstrip("_")[:1].islower()  # of the module, or of a class
        if not at_import and (found := self.by.get((point.path, point.function))):
            return found
        users = {point.path, *importers(tree, point.path)}
        return {test for (path, name), tests in self.by.items() if path in users and name for test in tests}


def plain(name: str) -> str:
    """A function's name as a point has it: without <locals>, and without the comprehension or lambda in it."""
    kept = [part for part in name.replace("<locals>.", "").split(".") if not part.startswith("<")]
    return ".".join(kept)


def importers(tree: Path, path: str) -> list[str]:
    """The files of helpers that import a module, directly."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    found = []
    for file in sorted((tree / "helpers").rglob("*.py")):
        imports = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)]
        names = {f"{node.module}.{each.name}" for node in imports for each in node.names} | {n.module for n in imports}
        if module in names:
            found.append(file.relative_to(tree).as_posix())
    return found
