"""The draw: which faults are planted, once and for all, from a seed; and where each of them is in a tree of another day."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

from tools.mutation.points import Place, Point, places

SEED = 11
ALIKE = 0.6  # less shared text than that, and a statement is another one


@dataclass(frozen=True)
class Part:
    """Faults of a few folders of helpers: how many, and the tests that may find them."""

    name: str
    code: tuple[str, ...]
    count: int
    tests: tuple[str, ...]


PARTS = (
    Part(
        "floors 1 and 2",
        ("units.py", "facts", "collectives", "memory"),
        120,
        ("units", "facts", "collectives", "memory", "exercises"),
    ),
    Part("floor 3", ("ranks", "measure"), 80, ("ranks", "measure", "exercises")),
)


def files(tree: Path, code: tuple[str, ...]) -> list[str]:
    """The Python files of the named folders of helpers, as paths from the tree's root."""
    found = (tree / "helpers" / name for name in code)
    every = [path for each in found for path in ([each] if each.is_file() else sorted(each.rglob("*.py")))]
    return [path.relative_to(tree).as_posix() for path in every]


def shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """`count` shared out in proportion to the sizes: whole numbers, the largest remainders first."""
    whole = sum(sizes.values())
    exact = {name: count * size / whole for name, size in sizes.items()}
    given = {name: int(share) for name, share in exact.items()}
    short = sorted(exact, key=lambda name: given[name] - exact[name])[: count - sum(given.values())]
    return {name: given[name] + (name in short) for name in exact}


def draw(tree: Path, part: Part, seed: int = SEED) -> list[Point]:
    """The part's faults, spread over its files by their lines, in the order in which they are judged."""
    texts = {path: (tree / path).read_text() for path in files(tree, part.code)}
    points = {path: [place.point for place in places(text, path)] for path, text in texts.items()}
    quota = shares({path: texts[path].count("\n") for path in texts if points[path]}, part.count)
    chance = random.Random(f"{seed} {part.name}")
    drawn = [point for path, share in quota.items() for point in chance.sample(points[path], share)]
    chance.shuffle(drawn)
    return drawn


class Tree:
    """Finds points in a tree in which files were moved and functions changed since the draw."""

    def __init__(self, root: Path):
        self.root = root
        self.files = files(root, ("",))
        self._by_statement = cache(self._read)

    def _read(self) -> dict[tuple, list[Place]]:
        found = defaultdict(list)
        for path in self.files:
            for place in places((self.root / path).read_text(), path):
                found[_fault(place.point)].append(place)
        return found

    def find(self, point: Point) -> Place | None:
        """The place of the same fault: in its own file, else in the function of its name elsewhere, else in the only
        equal statement anywhere. None where its code is gone."""
        if (self.root / point.path).is_file():
            text = (self.root / point.path).read_text()
            here = next((place for place in places(text, point.path) if place.point == point), None)
            if here:
                return here
        same = [place for place in self._by_statement()[_fault(point)] if place.point.which == point.which]
        named = [place for place in same if place.point.function == point.function]
        last = [place for place in same if place.point.function.split(".")[-1] == point.function.split(".")[-1]]
        for found in (named, last, same):
            near = [place for place in found if place.point.nth == point.nth] or found
            near = [place for place in near if Path(place.point.path).name == Path(point.path).name] or near
            if len({place.point.path for place in near}) == 1:
                return near[0]
        return self._alike(point)

    def _alike(self, point: Point) -> Place | None:
        """The fault most like it in the function of its name, where the statement was changed but not beyond knowing it again."""
        every = (place for places in self._by_statement().values() for place in places)
        name = point.function.split(".")[-1]
        same = [
            each
            for each in every
            if each.point.operator == point.operator and each.point.function.split(".")[-1] == name
        ]
        if point.operator == "constant":
            same = [each for each in same if each.point.becomes == point.becomes]
        best = max(same, key=lambda each: (_likeness(each.point, point), each.point.which == point.which), default=None)
        return best if best and _likeness(best.point, point) > ALIKE else None


def _likeness(one: Point, other: Point) -> float:
    """0 to 1: how much of the fault's and the statement's text two points share."""
    pairs = ((one.expression, other.expression), (one.becomes, other.becomes), (one.statement, other.statement))
    return min(SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in pairs)


def _fault(point: Point) -> tuple:
    return (point.statement, point.operator, point.expression, point.becomes)
