"""A package that is missing is one line with the word that installs it: requirements.txt comes with `make book`, the others later."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from tools import pins

ROOT = Path(__file__).resolve().parent.parent
WORDS = {"requirements.txt": "make book", "requirements-dev.txt": "make test", "requirements-jax.txt": "make test-all"}


def word(module: str) -> str | None:
    """The word of make that installs a module's package, None for what no requirement names."""
    wanted = module.partition(".")[0].lower().replace("_", "-")
    for name, brings in WORDS.items():
        if wanted in {pins.name(pin).lower().replace("_", "-") for pin in pins.read([(ROOT / name).read_text()])}:
            return brings
    return None


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Around the imports of a command: what is missing ends it with that line, exit status 1."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if missing.name is None or (brings := word(missing.name)) is None:
            raise
        print(f"{missing.name.partition('.')[0]} is missing: `{brings}` installs it", file=sys.stderr)
        raise SystemExit(1) from None
