// On paper nothing moves: each schedule as a few stills, from its start over steps under way to its end, then its whole time.
import { drawMemory } from "../../shared/drawing/memory.mjs";
import { timeView } from "../../shared/drawing/time.mjs";
import { topologyView } from "../../shared/drawing/topology.mjs";
import { h } from "../../shared/page/dom.mjs";
import { times } from "../../shared/page/numbers.mjs";
import { sentence } from "../../shared/schedules/sentence.mjs";
import { readout } from "./readout.mjs";
import { MODEL, provenance, RUN } from "./track.mjs";

const MOST = 6;
const FEW = 3; // of two schedules, or beside a recorded run: all on one sheet
const LEFT = 0.6; // how much of its way a chunk still has before it when a step's picture is taken
const [WIDE, TALL, LONG] = [300, 120, 600];

// Where the stills stand: at the start, within steps evenly apart, the first and the last among them, and at the end. A single step
// is the one in the middle.
export function moments(last, most = MOST) {
  const n = Math.min(last, most - 2);
  const steps = times(n, (i) => (n > 1 ? 1 + Math.round((i * (last - 1)) / (n - 1)) : Math.ceil(last / 2)));
  return [...new Set([0, ...steps.map((step) => step - LEFT), last])];
}

function told(view, position) {
  const { lead, text, end } = sentence(view, Math.ceil(position));
  return position && position === view.last ? ["End", end] : [lead, text];
}

function still(view, position, numbers) {
  const topology = topologyView(view, WIDE, TALL);
  topology.show(position);
  const [lead, text] = told(view, position);
  return h(
    "div",
    { class: "bim-still" },
    h("p", { class: "bim-title" }, lead),
    topology.node,
    drawMemory(view, position, WIDE, numbers),
    h("p", { class: "bim-note" }, text),
  );
}

function whole(view, run, end, note) {
  const time = timeView(view, LONG, null, null, { run, end });
  time.show(view.last);
  return h("div", { class: "bim-still" }, time.node, h("p", { class: "bim-note" }, note));
}

function row(view, mode, most) {
  const all = moments(view.last, most).map((at) => still(view, at, mode === "numbers"));
  return h("div", { class: "bim-stills-row" }, all);
}

// views: the schedules on show; clock: theirs; mode: "slots" or "numbers". -> a node that only paper shows
export function stills(views, clock, mode) {
  const end = Math.max(...views.flatMap(({ line, real }) => [line.seconds, real?.seconds ?? 0]));
  const figures = readout();
  figures.show(views, clock.at(clock.last), clock.seconds(clock.last));
  const two = views.length > 1;
  const each = views.map((view, i) =>
    h(
      "div",
      { class: "bim-stills-one" },
      two && h("p", { class: "bim-title" }, view.schedule.algorithm),
      row(view, mode, two || view.real ? FEW : MOST),
      h(
        "div",
        { class: "bim-stills-whole" },
        h(
          "div",
          {},
          whole(view, view.line, end, MODEL),
          view.real && whole(view, view.real, end, `${provenance(view.real.told)} · ${RUN}`),
        ),
        i === views.length - 1 && figures.node,
      ),
    ),
  );
  return h("div", { class: "bim-stills" }, each);
}
