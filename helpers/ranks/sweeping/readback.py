"""From NCCL's log of one combination to what it took: which lines tell it. Chapters: benchmarking, choosing.

The log's own words count, not the environment's: a tuner plugin, nccl.conf or a GPU that lacks NVLS may have another will.

- "AllReduce: 4194304 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..15}" (subsystem TUNING, rank 0): from 2.24 names and channels,
  from 2.20 to 2.23 numbers instead; the shapes stand in helpers.nccl.output.logs.
- "NCCL_ALGO set by environment to allreduce:Ring" (ENV): that NCCL has read it.
- "Channel 00/16 : 0 1 2 3" (INIT, GRAPH): how many channels the communicator has.
- "No algorithm/protocol available for function AllReduce ..." (a WARN, src/enqueue.cc; "Error : no ..." up to 2.28): it would not.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from helpers.nccl import DebugLog, DebugLogError, parse_debug_log
from helpers.ranks.sweeping.found import Took
from helpers.ranks.sweeping.settings import NCCL_NAMES, Asked

LOGGED = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,GRAPH,TUNING,NVLS"}
REFUSALS = re.compile(r"no algorithm/protocol available|unrecognized (?:element|prefix) token", re.IGNORECASE)


class Said(NamedTuple):
    """What one log says. took: by size in bytes. read: settings that NCCL has read. refusal: in its words, "" where there is none."""

    took: dict[int, Took]
    read: dict[str, str]
    rings: int | None
    version: str | None
    refusal: str


def read_back(text: str, collective: str, nranks: int) -> Said:
    """What NCCL says of one combination's collective. Nothing, for a log without a line of NCCL."""
    try:
        log = parse_debug_log(text)
    except DebugLogError:
        return Said({}, {}, None, None, "")
    read = {name: ", ".join(values) for name, values in log.took_effect.items()}
    rings = max((ring.channels for ring in log.rings), default=None)
    return Said(_took(log, collective, nranks), read, rings, next(iter(log.versions), None), _refusal(log))


def took_effect(asked: Asked, took: Took | None, rings: int | None) -> bool | None:
    """Did NCCL do as asked? None where its log does not say. A short message may use fewer channels than there are."""
    if asked == Asked():
        return True
    if took is None:
        return None
    pairs = ((asked.algorithm, took.algorithm), (asked.protocol, took.protocol))
    if any(wanted is not None and wanted != got for wanted, got in pairs):
        return False
    if asked.channels is None:
        return True
    if took.channels is None:
        return None
    own = took.algorithm.startswith("NVLS") or rings is None  # NVLS counts channels of its own
    return took.channels <= asked.channels and (own or rings == asked.channels)


def _took(log: DebugLog, collective: str, nranks: int) -> dict[int, Took]:
    """By size; where a size was told differently, what was told most often."""
    told: dict[int, Counter[Took]] = {}
    for choice in log.choices:
        if choice.collective in (NCCL_NAMES[collective], None):
            channels = choice.channels and choice.channels[1] - choice.channels[0] + 1
            took = Took(choice.algorithm, choice.protocol, channels)
            told.setdefault(choice.buffer(nranks), Counter())[took] += 1
    return {nbytes: counts.most_common(1)[0][0] for nbytes, counts in told.items()}


def _refusal(log: DebugLog) -> str:
    return next((words for words in log.warnings.values() if REFUSALS.search(words)), "")
