"""`bench --sweep proto=LL,LL128 algo=Ring`: the sweeps of a command, and what their words mean. Chapters: benchmarking, choosing."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from helpers.ranks.sweeping.found import Swept
from helpers.ranks.sweeping.processes import OneOrMany, one_or_many, taken
from helpers.ranks.sweeping.settings import known
from helpers.ranks.sweeping.sweep import sweep

NAMES = ("algo", "proto", "channels")


def settings(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """["proto=LL,LL128", "algo=Ring"] -> {"proto": ("LL", "LL128"), "algo": ("Ring",)}. ValueError for anything else."""
    found: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, values = word.partition("=")
        several = tuple(filter(None, values.split(",")))
        if name not in NAMES or not equals or not several:
            raise ValueError(f"--sweep takes {', '.join(f'{one}=A,B' for one in NAMES)}, got {word!r}")
        if name in found:
            raise ValueError(f"--sweep takes {name} once, with commas: got {word!r} again")
        found[name] = several
    return found


def run(options: argparse.Namespace) -> int:
    """A sweep of every collective that is named. 1 for a wrong element, a setting without effect, a combination that failed."""
    asked = settings(options.sweep)
    for collective in options.collectives:
        known(collective)
    sizes = {"begin": options.begin, "end": options.end, "factor": options.factor}
    found = [
        sweep(
            collective,
            **asked,
            **sizes,
            nranks=options.ranks,
            one_gpu=options.one_gpu,
            warmup=options.warmup,
            iters=options.iters,
            timeout=options.timeout,
        )
        for collective in options.collectives
    ]
    _tell(found, options.json)
    return int(any(one.failed for one in found))


def processes(options: argparse.Namespace) -> int:
    """One process for all GPUs beside a process a GPU, of every collective that is named. 1 for a wrong element."""
    for collective in options.collectives:
        taken(collective)
    found = [
        one_or_many(
            collective,
            begin=options.begin,
            end=options.end,
            factor=options.factor,
            nranks=options.ranks,
            warmup=options.warmup,
            iters=options.iters,
            timeout=options.timeout,
        )
        for collective in options.collectives
    ]
    _tell(found, options.json)
    return int(any(one.wrong for one in found))


def _tell(found: Sequence[Swept | OneOrMany], as_json: bool) -> None:
    if as_json:
        print(json.dumps([one.as_json() for one in found], indent=1))
    else:
        print(*found, sep="\n\n")
