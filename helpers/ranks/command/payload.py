"""`bench --payload MODEL`: the sizes that a training step sends, to bench those and no others. Chapter: benchmarking."""

from __future__ import annotations

import argparse
import json

from helpers.memory.payloads import known_model, payloads

HEADER = f"{'by':<18}{'what':<38}{'collective':<16}{'size (B)':>14}{'':>12}{'times':>7}"


def run(options: argparse.Namespace) -> int:
    """The table, or its rows as JSON."""
    model = known_model(options.payload)
    batch = options.batch or 1
    rows = payloads(model, batch, options.tokens)
    if options.json:
        print(json.dumps([row._asdict() for row in rows], indent=1))
        return 0
    print(f"# what one training step of {model.name} sends, in 16-bit numbers; each kind of parallelism by itself")
    print(f"# size: as nccl-tests counts it; times: a step of one rank, on one micro-batch of {batch}")
    print(HEADER, *rows, sep="\n")
    print(
        f"# to bench one of them: python -m helpers.ranks bench {rows[0].collective} -b {rows[0].nbytes} -e {rows[0].nbytes}"
    )
    return 0
