"""One running example through the part on training: what a way to share out a step moves, over which link, how long, and what it holds.

    print(entry("70B", Sharding(data=64, zero=3), precision="fsdp2", checkpoint="full"))

SETUPS names two jobs: "7B" on eight H200, "70B" on 64 H100. Chapters: data-parallel to meshes.
"""

from .entry import Entry, entry
from .setups import SETUPS, Setup
from .traffic import AXES, Traffic

__all__ = ["AXES", "SETUPS", "Entry", "Setup", "Traffic", "entry"]
