"""python -m helpers.parallel.annotated: records what XLA puts in under every layout. Needs JAX. Chapter: annotations."""

from __future__ import annotations

import argparse
import sys

from helpers.ranks.recorded import record

from .by_jax import NoJaxError
from .recording import COMMAND, NAME, label, taken


def main(argv: list[str] | None = None) -> int:
    """Writes recorded/jax-cpu.json; 1 where JAX is missing or fails."""
    argparse.ArgumentParser(prog=COMMAND, description=__doc__).parse_args(argv)
    try:
        data = taken()
    except NoJaxError as error:
        print(error, file=sys.stderr)
        return 1
    run = record(NAME, data, COMMAND, label())
    print(f"recorded/{NAME}.json: {len(data['layouts'])} layouts; {run}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
