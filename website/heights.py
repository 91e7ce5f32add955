"""The room that a page keeps for its widgets and charts until they are alive, so that nothing moves when they come.

heights.json has it, measured by `python -m tools.heights`: page -> "kind-n" -> pixels in a window of each of WIDTHS.
A mount that is not there yet gets the guess for its kind (course.css).
"""

import json
import re
from collections import Counter
from pathlib import Path

PATH = Path(__file__).with_name("heights.json")
WIDTHS = (375, 412, 768, 1024, 1280, 1440, 1920)  # course.css says which windows take which
MOUNT = re.compile(r'<div class="bim-mount" data-kind="(\w+)"')


def heights() -> dict[str, dict[str, list[int]]]:
    """What was measured."""
    return json.loads(PATH.read_text(encoding="utf-8"))


def mounts(body: str) -> list[str]:
    """The names of a text's mounts, in order: "player-0", "chart-0", "player-1", as links have them."""
    seen = Counter()
    return [f"{kind}-{count(seen, kind)}" for kind in MOUNT.findall(body)]


def count(seen: Counter, kind: str) -> int:
    """How many of the kind came before; this one is seen now."""
    seen[kind] += 1
    return seen[kind] - 1


def with_rooms(body: str, measured: dict[str, list[int]]) -> str:
    """The text, each mount with its heights as --h0, --h1 and so on, in the order of WIDTHS."""
    names = iter(mounts(body))

    def with_room(mount: re.Match) -> str:
        sizes = measured.get(next(names), [])
        style = ";".join(f"--h{i}:{size}px" for i, size in enumerate(sizes))
        return f'{mount[0]} style="{style}"' if style else mount[0]

    return MOUNT.sub(with_room, body)
