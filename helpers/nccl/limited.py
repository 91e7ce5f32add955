"""Whether a call's bytes or its start are most of its time, by NCCL's model. Chapter: yours."""

from __future__ import annotations

from helpers.nccl.platforms import Described, Platform
from helpers.nccl.predict import predict
from helpers.nccl.releases import LATEST
from helpers.nccl.tuning import COLLECTIVES

SMALLEST = 8  # bytes: a call that is all start
STARTS = 2.0  # times the smallest call's seconds: from there on bytes are at least half


def limited_by(
    collective: str, nbytes: int, machine: Described | Platform, nranks: int, version: str = LATEST
) -> str | None:
    """ "latency" where `predict` gives the call less than twice the seconds of one of 8 bytes, else "bandwidth".

    None for what NCCL's model does not know: another collective, GPUs over PCIe, more ranks than a machine whose network nobody named.
    """
    if collective not in COLLECTIVES or nranks < 2:
        return None
    try:
        whole, start = (predict(collective, size, machine, nranks, version).seconds for size in (nbytes, SMALLEST))
    except ValueError:
        return None
    return "latency" if whole < STARTS * start else "bandwidth"
