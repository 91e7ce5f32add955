// The widget `segments`: one allocator's model, fixed and expandable, stepped through event by event. Ties state and drawing together.
import { listen, transport } from "../shared/page/controls.mjs";
import { h } from "../shared/page/dom.mjs";
import { placeOf } from "../shared/page/lifecycle.mjs";
import { motion } from "../shared/page/motion.mjs";
import { tools, twin } from "../shared/page/tools.mjs";
import { decode, encode, python } from "./link.mjs";
import { legend } from "./parts.mjs";
import { opened } from "./replay.mjs";
import { build, choose, draw, landed, measure, step, tables } from "./show.mjs";
import { stills } from "./stills.mjs";

function onHash(widget) {
  const { live, index, spec, ui, move } = widget;
  const linked = live ? null : decode(location.hash, index, spec.events.length);
  if (!linked) return;
  ui.mode = linked.mode;
  move.to(linked.step);
  build(widget);
}

function doesOf({ move, spec }) {
  return {
    first: () => move.to(0),
    back: () => move.by(-1),
    toggle: () => move.toggle(),
    forward: () => move.by(1),
    last: () => move.to(spec.events.length),
    seek: (to) => move.to(to),
    speed: (factor) => move.speed(factor),
  };
}

function tooled(widget) {
  const { live, spec, index, ui, notice } = widget;
  const now = () => ({ mode: ui.mode, step: step(widget) });
  const code = spec.program && (() => python(spec, now()));
  return tools({ live }, () => encode(now(), index), code, notice);
}

function framed({ top, ways, spec, sentence, bar, blocks, said }, under) {
  const source = h("p", { class: "bim-note" }, spec.source);
  const deck = h("div", { class: "bim-deck" }, h("div", {}, ways, legend(spec)), bar.node, sentence);
  const body = [top, deck, under, source, blocks.node, said];
  return h("div", { class: "bim-segments bim-widget" }, h("div", { class: "bim-body" }, body));
}

// The widget's state and the parts that are filled again and again.
function begun(model, el) {
  const given = model.get("spec");
  const spec = opened(given);
  const widget = { model, given, spec, index: placeOf(el), live: Boolean(model.get("live")) };
  widget.choose = (mode) => choose(widget, mode);
  return Object.assign(widget, {
    ui: { mode: spec.mode, columns: [], drawn: -1 },
    top: h("div"),
    ways: h("div", { class: "bim-ways" }),
    sentence: h("p", { class: "bim-sentence" }),
    notice: h("p", { class: "bim-notice", role: "status" }),
    said: h("p", { class: "bim-sr", "aria-live": "polite" }),
    blocks: twin("Segments and blocks as a table", () => tables(widget)),
    move: motion(
      el.dataset.clock === "manual",
      () => draw(widget),
      () => landed(widget),
    ),
  });
}

// A picture is drawn for one width: another one asks for another picture.
const outgrown = ({ picture, width }) => picture.clientWidth && Math.floor(picture.clientWidth) !== width;

function render({ model, el }) {
  const widget = begun(model, el);
  const { move, spec, ui, said, ways } = widget;
  const does = doesOf(widget);
  widget.bar = transport(does);
  const root = framed(widget, tooled(widget));
  el.append(root);
  root.segments = { tick: move.tick }; // tests drive time
  listen(root, does);
  move.stand(spec.events.length, spec.step);
  build(widget);
  said.textContent = ""; // nothing is said before the reader does something
  const hash = () => onHash(widget);
  hash();
  const watcher = new ResizeObserver(() => ui.columns.some(outgrown) && measure(widget));
  watcher.observe(ways);
  const off = () => widget.paper?.remove();
  const on = () => {
    off();
    widget.paper = stills(widget);
    ways.after(widget.paper);
  };
  window.addEventListener("hashchange", hash);
  window.addEventListener("beforeprint", on);
  window.addEventListener("afterprint", off);
  return () => {
    move.stop();
    watcher.disconnect();
    window.removeEventListener("hashchange", hash);
    window.removeEventListener("beforeprint", on);
    window.removeEventListener("afterprint", off);
  };
}

export default { render };
