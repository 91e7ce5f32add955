"""Files that the build writes under _static/: data for the shim, as plain scripts that work from any folder."""

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def write(app: Sphinx, exception: Exception | None, files: dict[str, str]) -> None:
    """Write each path's text under _static/, after a build that went well and made HTML."""
    if not is_written(app, exception):
        return
    for path, text in files.items():
        target = Path(app.outdir, "_static", path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def is_written(app: Sphinx, exception: Exception | None) -> bool:
    """Whether the build went well and made HTML."""
    return exception is None and app.builder.format == "html"


def call(name: str, *values: Any) -> str:
    """A line that hands data to the shim and does nothing else: `BytesInMotion.name(value,...);`."""
    return f"BytesInMotion.{name}({','.join(map(compact, values))});\n"


def compact(value: Any) -> str:
    """JSON without spaces. ValueError for NaN and infinities, which are not JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
