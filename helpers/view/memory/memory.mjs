// The widget `memory`: what is alive while a step runs, by class, by layer, block by block; recorded, predicted or live.
import { listen } from "../shared/page/controls.mjs";
import { copy } from "../shared/page/link.mjs";
import { row, table, twin } from "../shared/page/tables.mjs";
import { layerText } from "./draw/bars.mjs";
import { onTheme } from "./draw/colours.mjs";
import { draw } from "./draw/easel.mjs";
import { pointers } from "./draw/pointers.mjs";
import { decodeMemory, encodeMemory, pythonOf } from "./link.mjs";
import { mover } from "./moment.mjs";
import { transportBar } from "./panel/bar.mjs";
import { listing } from "./panel/list.mjs";
import { rankTable } from "./panel/others.mjs";
import { controlsOf, fill, furniture, keysOf } from "./panel/stage.mjs";
import { dress, momentRows, NOUNS, sentence } from "./panel/telling.mjs";
import { prepared, shape } from "./scope.mjs";
import { byLayer } from "./trace/parts.mjs";
import { receiver } from "./trace/receive.mjs";
import { openSnapshot } from "./trace/snapshot.mjs";
import { CLASSES, composition } from "./trace/store.mjs";

const LISTED_EVERY = 250; // milliseconds between two lists while events arrive

const indexAmong = (el) => Math.max(0, [...document.querySelectorAll('.bim-mount[data-kind="memory"]')].indexOf(el.closest(".bim-mount")));

function render({ model, el }) {
  const index = indexAmong(el);
  const live = Boolean(model.get("live"));
  const base = model.get("spec") ?? {};
  const ui = shape(base);
  const feed = model.get("stream") ? receiver((wanted) => model.send({ ask: wanted })) : null;
  let [drawn, listed, frames] = [0, 0, 0];

  const does = {
    toggle: () => move.play(),
    first: () => stand(ui.axis.from, true),
    last: () => stand(ui.axis.to - 1, true),
    back: () => stand(ui.at - 1, true),
    forward: () => stand(ui.at + 1, true),
    seek: (i) => stand(i, true),
    speed: (factor) => move.speed(factor),
    peak() { if (ui.t.peak < ui.axis.from || ui.t.peak >= ui.axis.to) ui.part = 0; rescale(); stand(ui.t.peak, true); },
    follow() { ui.following = true; later(); },
    show(name) { ui.show = name; ui.asked = {}; model.set("spec", { ...base, show: name, at: null }); model.save_changes(); },
    rank(r) { ui.rank = r; take(); },
    part(p) { ui.part = p; rescale(); stand(p ? ui.axis.from : ui.t.peak, true); },
    axis(mode) { ui.axisMode = mode; rescale(); all(true); },
    filter(text) { ui.list.filter = text; ui.list.pages = 1; list(); },
    more() { ui.list.pages += 1; list(); },
    listMode(mode) { ui.list.mode = mode; ui.list.pages = 1; list(); },
    async open(file) {
      try {
        const traces = openSnapshot(new Uint8Array(await file.arrayBuffer()));
        Object.assign(ui, { traces: traces.map((t, i) => [i, t]), opened: file.name, rank: 0, part: 0, asked: {} });
        parts.notice.textContent = "";
        take();
      } catch (error) {
        parts.notice.textContent = `${file.name} cannot be opened: ${error.message}.`;
      }
    },
    copyLink() {
      history.replaceState(null, "", encodeMemory({ show: base.names?.length > 1 ? ui.show : null, axis: ui.axis.mode, rank: ui.rank, part: ui.part, at: ui.at }, index));
      copy(location.href, "Link", parts.notice);
    },
    copyPython: () => copy(pythonOf({ show: ui.opened ? null : ui.show, axis: ui.axis.mode, rank: ui.rank, at: ui.at, limit: ui.limit }), "Python", parts.notice),
    back_to() { ui.opened = ""; ui.asked = {}; load(); },
  };
  const bar = transportBar(does);
  const numbers = twin("The numbers", numbersOf);
  const parts = furniture({ ...does, back: does.back_to }, { live, bar: bar.node, numbers: numbers.node });
  const move = mover(() => ui, (i) => stand(i, false), () => all(true), el.dataset.clock === "manual");

  // Another trace is on show, or another of its ranks.
  function take() {
    move.halt();
    prepared(ui);
    const { asked } = ui;
    ui.part = Math.min(asked.part ?? ui.part, ui.phases.length);
    if (asked.axis) ui.axisMode = asked.axis;
    rescale();
    ui.at = Math.min(Math.max(asked.at ?? (ui.following ? ui.t.n - 1 : ui.t.peak), 0), Math.max(0, ui.t.n - 1));
    ui.asked = {};
    parts.title.textContent = ui.opened || ui.set.title || ui.t.about.label || ui.set.label || "Memory over time";
    dress(parts.badge, ui, Boolean(feed));
    parts.controls.replaceChildren(...controlsOf(ui, does));
    parts.controls.hidden = !parts.controls.childNodes.length;
    parts.barPanel.hidden = !ui.layered;
    parts.back.hidden = !ui.opened;
    all(false);
  }

  const rescale = () => prepared(ui, true);

  function stand(i, aloud) {
    if (aloud) { move.halt(); move.touched(); ui.following = false; }
    ui.at = Math.min(Math.max(i, ui.axis.from), Math.max(ui.axis.from, ui.axis.to - 1));
    if (aloud) all(true);
    else later();
  }

  // Everything now; or the picture at the next frame, once.
  function all(aloud) {
    paintAll();
    list();
    if (aloud) parts.said.textContent = move.playing() ? "" : parts.sentence.textContent;
  }
  function later() { drawn ||= requestAnimationFrame(() => { drawn = 0; paintAll(); }); }

  function paintAll() {
    frames += 1;
    if (feed) catchUp();
    const { t, at, unit } = ui;
    const words = sentence(t, at, ui);
    draw(parts, ui);
    parts.picture.setAttribute("aria-label", `Bytes alive over ${ui.axis.mode === "seconds" ? "time" : "events"}, stacked by class. ${words}`);
    parts.sentence.textContent = words;
    parts.keys.replaceChildren(...keysOf(t.n ? composition(t, at) : CLASSES.map(() => 0), ui.used, t.total[at] ?? 0, unit, ui.unclassed));
    if (ui.layered) parts.barText.textContent = layerText("", byLayer(t, at, ui.rows).get(""), unit);
    if (ui.traces.length > 1) parts.ranks.replaceChildren(rankTable(ui.traces, ui.axis, ui.axis.place(at), unit));
    parts.ranks.hidden = ui.traces.length < 2;
    parts.bars.setAttribute("aria-label", `Bytes by layer, stacked by class, after event ${at + 1}; the same as a table under The numbers`);
    bar.show(ui.axis, at, move.playing(), words, Boolean(feed) && !ui.following && !feed.over);
    if (move.playing() || (feed && performance.now() - listed < LISTED_EVERY)) return;
    if (feed) list();
  }

  function catchUp() {
    if (ui.opened || ui.set.ranks) return;
    ui.traces = feed.traces.length ? feed.traces : ui.traces;
    prepared(ui);
    if (ui.following) ui.at = Math.max(0, ui.t.n - 1);
  }

  function list() {
    listed = performance.now();
    if (!ui.t.n || move.playing()) return;
    fill(parts, listing(ui.t, ui.at, ui.list, ui), does.listMode);
    numbers.refresh();
  }

  function numbersOf() {
    const { t, unit, used } = ui;
    const head = ["Moment", "Event", ...(t.timed ? ["Time"] : []), ...used.map((cls) => NOUNS[cls]), "In all"];
    const found = [table(`${parts.title.textContent}: ${parts.badge.textContent}, in ${unit}`, head, momentRows(t, unit, used).map((words) => row("td", words)))];
    if (ui.layered) found.push(table(`By layer after event ${ui.at + 1}`, ["Layer", "What it holds"], [...byLayer(t, ui.at, ui.rows)].map(([name, bytes]) => row("td", [name || "outside", layerText(name, bytes, unit)]))));
    return found;
  }

  function load() {
    const set = model.get("trace");
    if (set?.error) parts.notice.textContent = set.error;
    if (!set?.ranks) return take();
    ui.take(set);
    ui.following = false;
    take();
  }

  function hear(message) {
    if (!feed.hear(message)) return;
    if (feed.over) ui.following = false;
    later();
  }

  function onHash() {
    const found = live ? null : decodeMemory(location.hash, index);
    if (!found) return;
    Object.assign(ui, { asked: found, rank: found.rank ?? ui.rank });
    if (found.show && found.show !== ui.show && ui.names.includes(found.show)) { const asked = found; does.show(found.show); ui.asked = asked; }
    else take();
  }

  pointers(parts, ui, (i) => stand(i, true), does.open);
  listen(parts.stage, does);
  el.append(parts.root);
  parts.root.memory = { tick: move.tick, ui, feed, frames: () => frames }; // tests drive time, benchmarks count
  const watcher = new ResizeObserver(later);
  watcher.observe(parts.stage);
  const stopTheme = onTheme(later);
  window.addEventListener("hashchange", onHash);
  model.on("change:trace", load);
  if (feed) {
    model.on("msg:custom", hear);
    ui.following = true;
    model.send({ ask: "all" });
  }
  load();
  onHash();
  return () => {
    move.halt();
    cancelAnimationFrame(drawn);
    watcher.disconnect();
    stopTheme();
    window.removeEventListener("hashchange", onHash);
    model.off("change:trace", load);
    model.off("msg:custom", hear);
  };
}

export default { render };
