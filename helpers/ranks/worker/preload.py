"""What the forkserver imports before it forks the first rank; nothing else imports this. Chapter: ranks.

Everything imported is frozen: in a child, a garbage collection would touch, and so copy, every page shared with the server
(measured: 0.2 s of a start with 4 ranks on 2 cores).
"""

import atexit
import gc

gc.disable()

import torch.distributed._functional_collectives  # noqa: E402, F401  every rank wraps it

from helpers.ranks.machine import scratch  # noqa: E402
from helpers.ranks.worker import life  # noqa: E402

atexit.register(scratch.clear_after, scratch.notebook())  # a rank, forked from here, ends without it
gc.freeze()
gc.enable()

__all__ = ["life"]
