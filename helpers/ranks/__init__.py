"""Running collectives for real: one process per rank, started from a notebook or a script."""

from .devices import World, world
from .execute import execute
from .inside import emit, here
from .pack import PackError
from .pool import Ranks
from .verdict import Failure, RankError

__all__ = ["Failure", "PackError", "RankError", "Ranks", "World", "emit", "execute", "here", "world"]
