"""A page with `segments` widgets and nothing else, as a file: what the browser tests press."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from harness import FONT, SHIM

from helpers.view.segments.spec import SegmentsSpec
from helpers.view.shared.bundle import plain_script
from helpers.view.shared.widget import VIEW, stylesheet


def write(path: Path, specs: list[SegmentsSpec], theme: str = "light") -> str:
    """Writes the page and returns its file:// address."""
    mounts = "".join(
        f'<div class="bim-mount" data-kind="segments" data-spec="{escape(json.dumps(spec.as_json()))}"></div>'
        for spec in specs
    )
    path.write_text(
        f"""<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8"><title>Segments</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{FONT}{stylesheet("segments")}
body {{ margin: 0 auto; padding: 16px; max-width: 880px; background: var(--bim-page); color: var(--bim-ink); }}</style></head>
<body><main><h1 style="font: 600 20px var(--bim-font-ui)">Segments</h1>{mounts}</main><script>{SHIM}
{plain_script(VIEW / "segments" / "segments.mjs", "segments")}
window.models = [...document.querySelectorAll(".bim-mount")].map((el) => {{
  if (location.search.includes("manual")) el.dataset.clock = "manual";
  const model = makeModel({{ spec: JSON.parse(el.dataset.spec) }});
  BytesInMotion.widget.render({{ model, el }});
  return model;
}});
</script></body></html>""",
        encoding="utf-8",
    )
    return path.resolve().as_uri()
