"""A page with one or more players and nothing else, as a file: what the browser tests press. Needs no server and no network."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from helpers.view.player.spec import PlayerSpec
from helpers.view.shared.bundle import plain_script
from helpers.view.shared.schedules.traces import catalogue, links, traces
from helpers.view.shared.widget import VIEW, stylesheet

INTER = VIEW.parents[1] / "assets" / "vendor" / "inter" / "inter-latin-wght-normal.woff2"
FONT = f'@font-face {{ font-family: Inter; font-weight: 100 900; src: url("{INTER.as_uri()}"); }}'

# The smallest honest stand-in for the site's shim and for a kernel's model: same traits, same events, answers come late.
SHIM = """
const tables = {};
const BytesInMotion = { define: (kind, widget) => { BytesInMotion.widget = widget; } };
const coming = {};
function fetched(name) {
  return coming[name] ??= new Promise((done) => {
    const script = Object.assign(document.createElement("script"), { src: `${TABLES}/${name}.js`, onload: done });
    document.head.append(script);
  });
}
function makeModel(state) {
  const hearers = {};
  const entry = ({ collective, algorithm }) => state.catalogue.find((e) => e.collective === collective && e.algorithm === algorithm);
  const found = (spec) => {
    const { collective, algorithm, nranks, nchunks, slices, gpus } = spec;
    const key = [nranks, nchunks ?? slices ?? (entry(spec)?.gpus && gpus)].filter((n) => n != null).join(".");
    return tables[`${collective} ${algorithm}`]?.[key];
  };
  const answer = (spec) => {
    const { schedule: text, before, after, factor, promise } = spec;
    const own = text ? { text, before, after, factor, promise } : found(spec);
    return own ? { ...own, ...(spec.rival && { versus: found(spec.rival) }) } : { error: "no such schedule" };
  };
  let asked = Promise.resolve();
  const model = {
    open: 0, // questions without an answer yet
    get: (key) => state[key],
    set(key, value) { if (state[key] === value) return; state[key] = value; (hearers["change:" + key] ?? []).forEach((f) => f()); },
    on: (event, f) => { (hearers[event] ??= []).push(f); },
    off: (event, f) => { hearers[event] = (hearers[event] ?? []).filter((g) => g !== f); },
    save_changes() {
      const { spec } = state;
      const known = [spec, spec.rival].filter((one) => one && !one.schedule && entry(one));
      const files = known.map(({ collective, algorithm }) => fetched(`${collective} ${algorithm}`));
      model.open += 1;
      asked = asked.then(() => Promise.all(files));
      asked.then(() => setTimeout(() => { model.open -= 1; model.set("trace", answer(spec)); }, 5));
    },
  };
  return model;
}
"""


@cache
def tables() -> TemporaryDirectory:
    """A folder of what the site's scripts hold, a file per schedule: no page reads more than it asks for."""
    folder = TemporaryDirectory()
    for key in [(entry["collective"], entry["algorithm"]) for entry in catalogue()]:
        name = " ".join(key)
        text = f"tables[{json.dumps(name)}] = {json.dumps(traces(*key), ensure_ascii=False)};"
        (Path(folder.name) / f"{name}.js").write_text(text, encoding="utf-8")
    return folder


def page(specs: list[PlayerSpec], theme: str = "light", live: bool = False) -> str:
    """HTML of a page with one player per spec."""
    state = {"catalogue": catalogue(), "links": links(), "live": live}
    mounts = "".join(
        f'<div class="bim-mount" data-kind="player" data-spec="{escape(json.dumps(spec.as_json()))}"></div>'
        for spec in specs
    )
    return f"""<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8"><title>Player</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{FONT}{stylesheet("player")}
body {{ margin: 0 auto; padding: 16px; max-width: 880px; background: var(--bim-page); color: var(--bim-ink); }}</style></head>
<body><main><h1 style="font: 600 20px var(--bim-font-ui)">Player</h1>{mounts}</main><script>
const TABLES = {json.dumps(Path(tables().name).as_uri())};
{SHIM}
{plain_script(VIEW / "player" / "player.mjs", "player")}
const state = {json.dumps(state, ensure_ascii=False)};
window.models = [...document.querySelectorAll(".bim-mount")].map((el) => {{
  if (location.search.includes("manual")) el.dataset.clock = "manual";
  const model = makeModel({{ ...state, spec: JSON.parse(el.dataset.spec) }});
  BytesInMotion.widget.render({{ model, el }});
  return model;
}});
</script></body></html>"""


def answered(page) -> None:
    """Wait until every player has the answer to what it asked last."""
    page.wait_for_function("models.every((model) => !model.open)")


def unfold(page) -> None:
    """Every choice of every player, not only those that its page talks about."""
    page.eval_on_selector_all(".bim-more[aria-expanded=false]", "buttons => buttons.forEach((one) => one.click())")


def write(path: Path, specs: list[PlayerSpec], **options: object) -> str:
    """Writes the page and returns its file:// address."""
    path.write_text(page(specs, **options), encoding="utf-8")
    return path.resolve().as_uri()
