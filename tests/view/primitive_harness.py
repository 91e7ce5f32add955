"""A page with widgets `primitive` and nothing else, as a file: what the browser tests press. Needs no server and no network."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from harness import FONT

from helpers.view.bundle import plain_script
from helpers.view.primitive import primitives
from helpers.view.widget import HERE, stylesheet

# A model as a kernel's: what is set is told at once, what is saved is counted.
MODEL = """
const BytesInMotion = { define: (kind, widget) => { BytesInMotion.widget = widget; } };
function makeModel(state) {
  const hearers = {};
  return {
    saved: 0,
    get: (key) => state[key],
    set(key, value) { state[key] = value; (hearers["change:" + key] ?? []).forEach((f) => f()); },
    on: (event, f) => { (hearers[event] ??= []).push(f); },
    off: (event, f) => { hearers[event] = (hearers[event] ?? []).filter((g) => g !== f); },
    save_changes() { this.saved += 1; },
  };
}
"""


def page(specs: list[dict], theme: str = "light", live: bool = False) -> str:
    """HTML of a page with one widget per spec; `models` and `stops` (what each render returned) are the window's."""
    mounts = "".join(
        f'<div class="bim-mount" data-kind="primitive" data-spec="{escape(json.dumps(spec))}"></div>' for spec in specs
    )
    state = json.dumps({"primitives": primitives(), "live": live})
    return f"""<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8"><title>Primitive</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{FONT}{stylesheet("primitive")}
body {{ margin: 0 auto; padding: 16px; max-width: 880px; background: var(--bim-page); color: var(--bim-ink); }}</style></head>
<body><main><h1 style="font: 600 20px var(--bim-font-ui)">Primitive</h1>{mounts}</main><script>{MODEL}
{plain_script(HERE / "primitive" / "primitive.mjs", "primitive")}
window.models = []; window.stops = [];
for (const el of document.querySelectorAll(".bim-mount")) {{
  if (location.search.includes("manual")) el.dataset.clock = "manual";
  models.push(makeModel({{ ...{state}, spec: JSON.parse(el.dataset.spec) }}));
  stops.push(BytesInMotion.widget.render({{ model: models.at(-1), el }}));
}}
</script></body></html>"""


def write(path: Path, specs: list[dict], **options: object) -> str:
    """Writes the page and returns its file:// address."""
    path.write_text(page(specs, **options), encoding="utf-8")
    return path.resolve().as_uri()
