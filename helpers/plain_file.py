"""The library's own files as text: in a folder, and in a zip from which Python runs. Every chapter."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

ROOT = os.path.split(os.path.split(__file__)[0])[0]  # a Path drops the "./" by which a zip may have been named


def text_of(path: Path) -> str:
    """path: beside a module, made from its `__file__`. OSError where there is no such file."""
    loader: Any = __spec__.loader  # what loaded this module reads the others' files, too
    inside = path.absolute().relative_to(Path(ROOT).absolute())
    content: bytes = loader.get_data(f"{ROOT}{os.sep}{inside}")
    return content.decode("utf-8")
