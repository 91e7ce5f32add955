"""NCCL's settings and ways to start it: protocols beside each other, one phase against two, ranks on one GPU, one process or many.

Each sweep has fresh ranks for every combination, so those of other checks are ended before.
"""

from __future__ import annotations

from helpers.ranks import Swept, sweep
from helpers.ranks.machine.gpus import find_gpus
from helpers.ranks.sweeping.processes import one_or_many
from helpers.units import KIB, MIB

from . import kept, scale
from .place import Place

LARGEST = 64 * MIB  # of a sweep, on GPUs with room
PHASES = 256 * MIB  # far into the flat part of the curve
SMALL = MIB  # where ranks share a GPU, or there is little room
FACTOR = 8
TIMEOUT = 30.0


def protocols(place: Place) -> dict:
    """An all_reduce by the ring with LL, LL128 and Simple, each forced, and read back from its log."""
    end = _largest(LARGEST)
    found = _swept("all_reduce", algo="Ring", proto=("LL", "LL128", "Simple"), end=end)
    return _told(found, "sweep-protocols")


def phases(place: Place) -> dict:
    """busbw of a reduce_scatter and of an all_reduce of one size, both by the ring with Simple: how far are they apart?"""
    nbytes = _largest(PHASES)
    one, two = (
        _swept(collective, algo="Ring", proto="Simple", begin=nbytes, end=nbytes)
        for collective in ("reduce_scatter", "all_reduce")
    )
    figures = {swept.collective: f"{swept.rows[0].busbw / 1e9:.1f} GB/s busbw one way" for swept in (one, two)}
    return figures | {"record": {"sweep-phases": [one.as_json(), two.as_json()]}}


def one_gpu(place: Place) -> dict:
    """Two ranks on one GPU: right results, NCCL's log, and settings that take effect. Times mean nothing, and none are taken."""
    found = _swept("all_reduce", proto=("LL", "Simple"), nranks=2, one_gpu=True, end=SMALL)
    assert found.shared and all(row.timing is None for row in found.rows)
    return _told(found, "sweep-one-gpu")


def processes(place: Place) -> dict:
    """One process for all GPUs beside a process a GPU: on the GPU, and as the host sees it."""
    end = _largest(LARGEST)
    found = one_or_many("all_reduce", begin=KIB, end=end, factor=FACTOR, timeout=TIMEOUT)
    print(found)
    assert not found.wrong, f"{found.wrong} elements are wrong"
    first = found.lines[0]
    named = {"one process, host": first.one.host, "a process a GPU, host": first.many.host}
    return named | {"nbytes": first.nbytes, "record": {"processes": found.as_json()}}


def _largest(most: int) -> int:
    """As much as every GPU has room for, as the driver tells it: nobody starts CUDA for that."""
    kept.close()
    return most if all((gpu.free or 0) >= scale.ROOM for gpu in find_gpus().usable) else SMALL


def _swept(collective: str, **asked: object) -> Swept:
    kept.close()
    found = sweep(collective, **({"begin": KIB, "factor": FACTOR, "timeout": TIMEOUT} | asked))
    print(found)
    failed = [f"{case.asked}: {case.why}" for case in found.cases if case.outcome == "failed"]
    assert not failed, "; ".join(failed)
    assert not found.wrong, f"{found.wrong} elements are wrong"
    ineffective = sorted({f"{row.asked}: NCCL took {row.took}" for row in found.rows if row.took_effect is False})
    assert not ineffective, "; ".join(ineffective)
    assert found.rows and all(row.took for row in found.rows), "NCCL's log does not tell what was taken"
    return found


def _told(found: Swept, name: str) -> dict:
    refused = [f"{case.asked} {case.outcome}" for case in found.cases if case.outcome != "ran"]
    told = {"rows": len(found.rows), "nccl": found.version} | ({"without": ", ".join(refused)} if refused else {})
    return told | {"record": {name: found.as_json()}}
