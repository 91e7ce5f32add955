"""Which Python blocks of a page run in the page, what each needs first, and what the others lack.

    python -m website.blocks                     # every page: how many run, and why the others do not
    python -m website.blocks notebooks/ring.ipynb

A block runs where none of its names, looked up as Python would, comes from a package that the page lacks or from a block that does not
run. Names are read off the compiled code, so scopes are Python's own; what a name of the library needs, off the library's.
"""

from __future__ import annotations

import builtins
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from website.block_names import Read, read_block
from website.lacking import FILES, ROOT, lacking

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
    reads = {block.number: read_block(block.source) for block in found}
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
        what = origin.get(first, first if first in FILES else "")
        if what and (reason := lacking(what, *rest)):
            return reason
    return ""


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
