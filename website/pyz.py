"""bim.pyz: "Is my number good?" as one file for a machine that has Python and neither torch, numpy nor a network.

Python runs a zip that holds `__main__.py`. The rooms are those that `helpers.yours` imports. Python 3.10 reads no TOML, so tables go in as
JSON under their own names, and a `tomllib` of a few lines stands beside them, which hides Python's own.
"""

import io
import json
import tomllib
import zipfile
from pathlib import Path

from sphinx.application import Sphinx

from website.scripts import is_written

ROOT = Path(__file__).resolve().parent.parent
NAME = "bim.pyz"
FIRST = b"#!/usr/bin/env python3\n"
ROOMS = ("facts", "collectives", "nccl", "memory", "context", "records", "yours")
HELD = (
    "helpers/*.py",
    *(f"helpers/{room}/**/*.{kind}" for room in ROOMS for kind in ("py", "toml")),
    "recorded/public/*.json",
)
DAY = "a day"
TOMLLIB = f'''"""Tables lie here as JSON, a day as an object."""

import json
from datetime import date

DAY = {DAY!r}


def loads(text):
    return json.loads(text, object_hook=lambda one: date.fromisoformat(one[DAY]) if DAY in one else one)
'''
MADE = {
    "__main__.py": "import sys\n\nfrom helpers.yours.__main__ import main\n\nsys.exit(main(sys.argv[1:]))\n",
    "tomllib.py": TOMLLIB,
}


def packed(root: Path = ROOT) -> bytes:
    """The whole file, the same bytes whenever it is made of the same files."""
    found = {path.relative_to(root).as_posix(): path for pattern in HELD for path in root.glob(pattern)}
    texts = MADE | {
        name: _as_json(path) if path.suffix == ".toml" else path.read_text("utf-8") for name, path in found.items()
    }
    out = io.BytesIO()
    out.write(FIRST)
    with zipfile.ZipFile(out, "a") as held:
        for name in sorted(texts):
            held.writestr(zipfile.ZipInfo(name), texts[name].encode(), zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def _as_json(path: Path) -> str:
    told = tomllib.loads(path.read_text("utf-8"))
    return json.dumps(told, default=lambda day: {DAY: day.isoformat()}, ensure_ascii=False, separators=(",", ":"))


def write_pyz(app: Sphinx, exception: Exception | None) -> None:
    """Into the site's first folder, beside its pages."""
    if is_written(app, exception):
        Path(app.outdir, NAME).write_bytes(packed())


def setup(app: Sphinx) -> dict[str, bool]:
    """The file, once the pages are written."""
    app.connect("build-finished", write_pyz)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
