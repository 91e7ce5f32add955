"""One running example through the part on training: what a way to share out a step moves, over which link, how long, and what it holds.

    print(entry("70B", Sharding(data=64, zero=3), precision="fsdp2", checkpoint="full"))

`.clock` is the step in seconds: what is hidden, what shows, tokens a second, MFU, HFU. `compared()` holds it against published runs.
SETUPS names two jobs: "7B" on eight H200, "70B" on 64 H100. Chapters: data-parallel to meshes.
"""

from . import scaling
from .entry import Entry, entry
from .flops import Flops, flops
from .published import Compared, compared
from .setups import SETUPS, Setup
from .traffic import AXES, Traffic

__all__ = [
    "AXES",
    "SETUPS",
    "Compared",
    "Entry",
    "Flops",
    "Setup",
    "Traffic",
    "compared",
    "entry",
    "flops",
    "scaling",
]
