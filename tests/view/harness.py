"""A page with one or more players and nothing else, as a file: what the browser tests press. Needs no server and no network."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import widget_harness

from helpers.view.player.spec import PlayerSpec
from helpers.view.shared.schedules.traces import catalogue, traces

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


def answered(page) -> None:
    """Wait until every player has the answer to what it asked last."""
    page.wait_for_function("models.every((model) => !model.open)")


def unfold(page) -> None:
    """Every choice of every player, not only those that its page talks about."""
    page.eval_on_selector_all(".bim-more[aria-expanded=false]", "buttons => buttons.forEach((one) => one.click())")


def write(path: Path, specs: list[PlayerSpec], theme: str = "light", live: bool = False) -> str:
    """Writes the page with one player per spec and returns its file:// address."""
    states = [widget_harness.known("player") | {"live": live, "spec": spec} for spec in specs]
    model = f"const TABLES = {json.dumps(Path(tables().name).as_uri())};\n{SHIM}"
    return widget_harness.write(path, "player", states, theme, model)
