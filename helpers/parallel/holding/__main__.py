"""python -m helpers.parallel.holding: records a step of every way on four Gloo ranks. Chapters: data-parallel, sharded."""

from __future__ import annotations

import argparse
import sys

from helpers.ranks import Ranks
from helpers.ranks.recorded import record

from .ways import NRANKS, WAYS, heads, step_of

NAME, COMMAND = "holds-cpu", "python -m helpers.parallel.holding"
PER_RANK = ("held", "rest", "total", "most")


def together(steps: list[dict]) -> dict:
    """One step of all ranks: what happens once, what is held by rank. RuntimeError where ranks did not do the same."""
    first = steps[0]
    if any(heads(step) != heads(first) for step in steps):
        raise RuntimeError("the ranks' steps have other moments")
    moments = []
    for at, moment in enumerate(first["moments"]):
        head = {key: value for key, value in moment.items() if key not in PER_RANK}
        moments.append(head | {"ranks": [{key: step["moments"][at][key] for key in PER_RANK} for step in steps]})
    return {"units": first["units"], "slots": first["slots"], "whole": first["whole"], "moments": moments}


def main(argv: list[str] | None = None) -> int:
    """Run every way and write the file; a line each."""
    argparse.ArgumentParser(prog=COMMAND, description=__doc__.partition("\n")[0]).parse_args(argv)
    found = {}
    with Ranks(NRANKS, backend="gloo", timeout=60) as ranks:
        label = ranks.label
        for way in WAYS:
            found[way] = together(ranks.run(step_of, way))
            peaks = [max(m["ranks"][rank]["most"] for m in found[way]["moments"]) for rank in range(NRANKS)]
            print(f"{way}: {len(found[way]['moments'])} moments, peaks {peaks} bytes")
    record(NAME, found, COMMAND, label)
    return 0


if __name__ == "__main__":
    sys.exit(main())
