"""numpy, for the few functions that give arrays: all else of floors 1 and 2 does without it, as it does on a page."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def numpy_for(what: str) -> Any:
    """The module numpy. ImportError that names what wants it where there is none."""
    try:
        return import_module("numpy")
    except ImportError:
        raise ImportError(f"{what} gives arrays and needs numpy, which is not here (a page has none)") from None
