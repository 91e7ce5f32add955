"""Checks that come to harm, for test_gpu_check: the process that runs the real ones runs these too."""

from __future__ import annotations

import os
import time

from tools.gpu.checks import Check


def passes(place):
    return {"pid": os.getpid()}


def raises(place):
    raise AssertionError("planted <b>")


def hangs(place):
    """With a rank that hangs as well: it must go with its parent."""
    with place.ranks(timeout=300.0) as ranks:
        ranks.run(time.sleep, 300)


def ends(place):
    os._exit(3)


CHECKS = [
    Check("first", passes),
    Check("raises", raises),
    Check("hangs", hangs, deadline=6.0),
    Check("after it", passes),
    Check("ends", ends),
    Check("needs GPUs", passes, needs=2),
    Check("needs NCCL", passes, nccl=True),
    Check("last", passes),
]
