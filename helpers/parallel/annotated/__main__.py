"""python -m helpers.parallel.annotated: records what XLA puts in under every layout. Needs JAX. Chapter: annotations."""

from __future__ import annotations

import sys

from helpers.ranks.recorded import record

from .by_jax import NoJaxError
from .recording import COMMAND, NAME, label, taken


def main() -> int:
    """Writes recorded/jax-cpu.json; 1 where JAX is missing or fails."""
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
