"""`bench` itself: rows as they are measured, or all of them as JSON. Chapter: benchmarking."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from helpers.meanwhile import LINE, Count
from helpers.ranks.timing import columns
from helpers.ranks.timing.timing import weights

Call = Callable[..., Any]  # call(fn, *args) runs fn on every rank and answers what rank 0 returned


def run(options: argparse.Namespace, call: Call, nranks: int, label: str, say: Call) -> int:
    """Every collective at every size. 1 when an element is wrong."""
    sizes = columns.sizes(options.begin, options.end, options.factor, nranks)
    tests: list[tuple[str, list[columns.Line]]] = []
    talk = _silent if options.json else say
    with Count(weights(sizes, options.iters) * len(options.collectives)) as count:
        for number, collective in enumerate(options.collectives):
            talk(columns.header(label, f"{collective} by {options.algorithm or 'torch'}"), flush=True)
            lines: list[columns.Line] = []
            for nbytes in sizes:
                count.at(number * len(sizes) + len(lines), f"{collective} of {nbytes} B")
                lines.append(_line(options, call, collective, nbytes))
                LINE.erase()
                talk(columns.row(lines[-1]), flush=True)
            talk(columns.footer(lines), flush=True)
            tests.append((collective, lines))
    if options.json:
        say(json.dumps(as_json(tests, label, nranks, options.algorithm), indent=1))
    return int(any(line.wrong for _, lines in tests for line in lines))


def _line(options: argparse.Namespace, call: Call, collective: str, nbytes: int) -> columns.Line:
    rest = options.algorithm, options.root, options.warmup, options.iters
    return call(columns.measure, collective, nbytes, *rest)


def _silent(*args: object, **kwargs: object) -> None:
    """What a bench says in a table when it is asked for JSON."""


def as_json(tests: list[tuple[str, list[columns.Line]]], label: str, nranks: int, algorithm: str | None) -> dict:
    """For json.dumps: seconds, bytes, bytes per second one way. tests: (collective, lines)."""
    head = {"kind": "bench", "label": label, "nranks": nranks, "by": algorithm or "torch", "direction": "one way"}
    return head | {"tests": [{"collective": name, "rows": [line.as_json() for line in lines]} for name, lines in tests]}
