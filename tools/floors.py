"""On which floor of the house each room of `helpers/` stands: read from its map, so that there is no second list to go stale."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAP = "helpers/README.md"


def rooms(root: Path = ROOT) -> dict[str, int]:
    """Every room of the map and its floor: {"units.py": 1, "nccl/output": 2, ...}."""
    lines = (root / MAP).read_text().splitlines()
    rows = [[cell.strip(" `") for cell in line.split("|")] for line in lines if line.startswith("| ")]
    return {room: int(floor) for _, floor, room, *_ in rows[1:]}


def floor_of(root: Path = ROOT) -> dict[str, int]:
    """The floor of each module and package right under `helpers`, by its name: {"units": 1, "nccl": 2, ...}."""
    return {room.removesuffix(".py"): floor for room, floor in rooms(root).items() if "/" not in room}
