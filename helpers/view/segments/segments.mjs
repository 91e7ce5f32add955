// The widget `segments`: one allocator's model, fixed and expandable, stepped through event by event. Ties state and drawing together.
import { listen, transport } from "../shared/page/controls.mjs";
import { h } from "../shared/page/dom.mjs";
import { copy } from "../shared/page/link.mjs";
import { motion } from "../shared/page/motion.mjs";
import { nbytesText } from "../shared/page/numbers.mjs";
import { row, table, twin } from "../shared/page/tables.mjs";
import { curves } from "./curves.mjs";
import { decode, encode, python } from "./link.mjs";
import { column, controls, figures, legend } from "./parts.mjs";
import { cells, classesAt, opened, stateAt } from "./replay.mjs";
import { scales, strips } from "./strips.mjs";
import { telling } from "./telling.mjs";

const WIDE = 760; // from here on two ways stand beside each other

function indexOf(el) {
  const mounts = [...document.querySelectorAll('.bim-mount[data-kind="segments"]')];
  return Math.max(0, mounts.indexOf(el.closest(".bim-mount")));
}

function render({ model, el }) {
  const index = indexOf(el);
  const live = Boolean(model.get("live"));
  const given = model.get("spec");
  const spec = opened(given);
  const ui = { mode: spec.mode, columns: [], drawn: -1 };
  const views = () => spec.views.filter((view) => ui.mode === "both" || view.expandable === (ui.mode === "expandable"));
  const step = () => Math.floor(move.position());

  const [top, ways] = [h("div"), h("div", { class: "bim-ways" })];
  const sentence = h("p", { class: "bim-sentence" });
  const said = h("p", { class: "bim-sr", "aria-live": "polite" });
  const notice = h("p", { class: "bim-notice", role: "status" });
  const blocks = twin("Segments and blocks as a table", tables);
  const tool = (text, click) => h("button", { type: "button", class: "bim-tool", click }, text);
  const move = motion(el.dataset.clock === "manual", draw, landed);
  const does = {
    first: () => move.to(0), back: () => move.by(-1), toggle: () => move.toggle(), forward: () => move.by(1), last: () => move.to(spec.events.length),
    seek: (to) => move.to(to), speed: (factor) => move.speed(factor),
  };
  const bar = transport(does);
  const tools = h("div", { class: "bim-tools" },
    !live && tool("Copy link", () => { history.replaceState(null, "", encode(index, { mode: ui.mode, step: step() })); copy(location.href, "Link", notice); }),
    spec.program && tool("Copy as Python", () => copy(python(spec, { mode: ui.mode, step: step() }), "Python", notice)), notice);
  const source = h("p", { class: "bim-note" }, spec.source);
  const root = h("div", { class: "bim-segments bim-widget" }, h("div", { class: "bim-body" }, top, ways, legend(spec), sentence, bar.node, tools, source, blocks.node, said));

  function build() {
    const shown = views();
    top.replaceChildren(controls(spec, ui.mode, choose));
    ui.columns = shown.map((view) => ({ view, ...column(view, shown.length > 1) }));
    ways.replaceChildren(...ui.columns.map(({ node }) => node));
    measure();
  }

  // Pictures are as wide as their columns: drawn again when that changes.
  function measure() {
    ways.classList.toggle("bim-beside-ways", ui.columns.length > 1 && ways.clientWidth >= WIDE);
    const most = Math.max(...ui.columns.map(({ view }) => view.peaks[1]));
    const common = scales(ui.columns.map(({ view }) => view), Math.max(240, ui.columns[0].picture.clientWidth));
    for (const one of ui.columns) {
      one.view.scales = common;
      one.width = Math.max(240, Math.floor(one.picture.clientWidth || 320));
      one.curve = curves(one.view, spec, most, one.width, (to) => move.to(to));
      one.chart.replaceChildren(one.curve.node);
    }
    ui.drawn = -1;
    draw();
  }

  function draw() {
    const now = step();
    bar.show(move.clock(), now, `Event ${now} of ${spec.events.length}`);
    if (now === ui.drawn) return;
    ui.drawn = now;
    const classes = classesAt(spec.events, now);
    for (const { view, picture, figures: list, curve, width } of ui.columns) {
      const at = Math.min(now, view.ended ?? now);
      picture.replaceChildren(...strips(view, spec, at, classes, width));
      curve.show(now);
      list.replaceChildren(...figures(view.curve[at], stateAt(view, at).flatMap((own) => cells(own).filter(({ block }) => block < 0).map(({ size }) => size))));
    }
    const words = telling(spec, views(), now);
    sentence.replaceChildren(h("em", {}, `${words.lead}. `), words.texts.join(" "));
    blocks.refresh();
  }

  function landed() {
    const { lead, texts } = telling(spec, views(), step());
    said.textContent = `${lead}. ${texts.join(" ")}`;
    share();
  }

  function share() {
    if (!live) return;
    model.set("spec", { ...given, mode: ui.mode, step: step() });
    model.save_changes();
  }

  function choose(mode) {
    ui.mode = mode;
    build();
    top.querySelector("select").focus({ preventScroll: true });
    landed();
  }

  function tables() {
    const now = step();
    const classes = classesAt(spec.events, now);
    return views().map((view) => table(view.expandable ? "Expandable segments" : "Segments of fixed size", ["Segment", "Offset", "Size", "Block"],
      stateAt(view, Math.min(now, view.ended ?? now)).flatMap((own, number) => cells(own).map(({ offset, size, block }) =>
        row("td", [`${view.segments[number][0]} ${number}`, nbytesText(offset), nbytesText(size), block < 0 ? "free" : `${spec.texts[spec.names.get(block)]} (${spec.classes[classes.get(block)]})`])))));
  }

  function onHash() {
    const linked = live ? null : decode(location.hash, index, spec.events.length);
    if (!linked) return;
    ui.mode = linked.mode;
    move.to(linked.step);
    build();
  }

  el.append(root);
  root.segments = { tick: move.tick }; // tests drive time
  listen(root, does);
  move.stand(spec.events.length, spec.step);
  build();
  said.textContent = ""; // nothing is said before the reader does something
  onHash();
  const watcher = new ResizeObserver(() => { if (ui.columns.some(({ picture, width }) => picture.clientWidth && Math.floor(picture.clientWidth) !== width)) measure(); });
  watcher.observe(ways);
  window.addEventListener("hashchange", onHash);
  return () => {
    move.stop();
    watcher.disconnect();
    window.removeEventListener("hashchange", onHash);
  };
}

export default { render };
