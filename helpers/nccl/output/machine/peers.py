"""Reads `nvidia-smi topo -p2p r` (also w, n, a, p): which GPU may reach the memory of which. Chapter: interconnects.

The words are those of the legend that the command prints; NCCL asks the same of NVML (ncclTopoCheckP2p, src/graph/paths.cc, 2.30).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from helpers.nccl.output.machine.grids import Grid, grid
from helpers.nccl.output.tables.cleaned import Line, cleaned
from helpers.nccl.output.tables.errors import MachineError

STATES = {
    "OK": "it may",
    "CNS": "the chipset is not supported",
    "GNS": "the GPU is not supported",
    "TNS": "the topology is not supported",
    "NS": "not supported",
    "DR": "disabled by a key of the driver's registry",
    "U": "unknown",
}
SIGN = re.compile(
    rf"^[ \t]*(?:[\w.:>\[\]-]+ +)?GPU\d+[ \t](?:.*[ \t])?(?:{'|'.join(STATES)})(?=[ \t\r]|$)(?!.*=)",
    re.MULTILINE | re.ASCII,
)
_GPU = re.compile(r"GPU\d+", re.ASCII)


def parse_peers(text: str) -> tuple[Grid, ...]:
    """Every such matrix of a text, in order; MachineError for a damaged one, or where there is none."""
    lines = list(cleaned(text))
    found = [_states(one) for at, line in enumerate(lines) if (one := _matrix(lines, at, line.text.split()))]
    if not found:
        raise MachineError("this is no output of nvidia-smi topo -p2p: no line with GPU0 GPU1 ... was found")
    return tuple(found)


def _matrix(lines: Sequence[Line], at: int, words: Sequence[str]) -> Grid | None:
    """The one below a head of GPUs alone whose first row has such words."""
    if not words or not all(map(_GPU.fullmatch, words)) or at + 1 == len(lines):
        return None
    first = lines[at + 1].text.split()
    states = any(word in STATES for word in first[1:])
    return grid(lines, at + 1, "nvidia-smi topo -p2p", words) if states else None


def _states(one: Grid) -> Grid:
    wrong = next((cell for cell in one.pairs().values() if cell not in STATES), None)
    if wrong:
        raise MachineError(f"between two GPUs stands {', '.join(STATES)}, got {wrong!r}", one.line)
    return one
