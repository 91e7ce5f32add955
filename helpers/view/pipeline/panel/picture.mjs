// The schedules over one time axis, the cursor, and at the cursor the messages that are under way.
import { svg } from "../../shared/page/dom.mjs";
import { percentOf, times } from "../../shared/page/numbers.mjs";
import { canvas, hold, label, line, moved } from "../../shared/page/shapes.mjs";
import { KINDS } from "../programs.mjs";
import { GRAINS, holds, idleUntil } from "../timeline.mjs";
import { heldText, timeText, underWay } from "../words.mjs";
import { lanesOf } from "./lanes.mjs";

const [HEAD, TITLE, AXIS, ROOM] = [20, 24, 34, 380];

// Left and right of the time, and how high a lane is: a block, 3 pixels, a strip.
function shapeOf(width, runs) {
  const wide = width >= 560;
  const room = (ROOM * (runs.length > 1 ? 1.4 : 1)) / (runs.length * runs[0].nranks);
  const lane = Math.max(38, Math.min(62, Math.floor(room)));
  const high = Math.round(lane * 0.42);
  return { wide, lane, high, strip: lane - high - 9, left: wide ? 98 : 54, right: wide ? 68 : 48 };
}

function scale(width, runs, form) {
  const end = Math.max(...runs.map(({ makespan }) => makespan));
  const most = Math.max(...runs.flatMap(({ peaks, nvirtual }) => peaks.map((peak) => peak / nvirtual)));
  const room = width - form.left - form.right;
  const x = (grains) => form.left + (grains / end) * room;
  return { left: form.left, width, end, most, x, at: (px) => Math.min(1, Math.max(0, (px - form.left) / room)) * end };
}

// 1, 2 or 5 times a power of ten, so that about so many fit.
function ticks(last, many) {
  const ten = 10 ** Math.floor(Math.log10(last / many));
  const by = ten * [1, 2, 5, 10].find((one) => one * ten * many >= last);
  return times(Math.floor(last / by + 1e-9) + 1, (i) => i * by);
}

const axis = (to, y, { wide }) => [
  line("bim-axis", to.x(0), y, to.x(to.end), y),
  ticks(to.end / GRAINS, wide ? 10 : 5).map((t) => [
    line("bim-axis", to.x(t * GRAINS), y, to.x(t * GRAINS), y + 4),
    label("bim-label bim-middle", to.x(t * GRAINS), y + 16, timeText(t * GRAINS)),
  ]),
  label("bim-label bim-end", to.left - 8, y + 16, "time"),
];

// A message from lane to lane, bowed so that one down and one up beside it are two; its head, and where it is.
function arrow({ from, to: into, sent, there, kind }, lanes, to, at) {
  const [x0, y0, x1, y1] = [to.x(sent), lanes[from].middle, to.x(there), lanes[into].middle];
  const bow = (into > from ? 1 : -1) * Math.min(26, 8 + Math.abs(y1 - y0) / 8);
  const [cx, cy] = [(x0 + x1) / 2 + bow, (y0 + y1) / 2];
  const turn = Math.atan2(y1 - cy, x1 - cx);
  const wing = (by) => `L${(x1 - 9 * Math.cos(turn + by)).toFixed(1)} ${(y1 - 9 * Math.sin(turn + by)).toFixed(1)}`;
  const way = `M${x0.toFixed(1)} ${y0}Q${cx.toFixed(1)} ${cy.toFixed(1)} ${x1.toFixed(1)} ${y1}`;
  const gone = there > sent ? (at - sent) / (there - sent) : null;
  const on = (a, b, c) => (1 - gone) ** 2 * a + 2 * gone * (1 - gone) * b + gone ** 2 * c;
  return svg(
    "g",
    { class: `bim-message ${KINDS[kind].wears}` },
    svg("path", { class: "bim-casing", d: way }),
    svg("path", { class: "bim-way", d: way }),
    svg("path", { class: "bim-arrow", d: `M${x1.toFixed(1)} ${y1}${wing(0.45)}${wing(-0.45)}z` }),
    gone !== null && svg("circle", { class: "bim-packet", cx: on(x0, cx, x1), cy: on(y0, cy, y1), r: 4 }),
  );
}

const nowText = ({ kind, stage, k }, { nvirtual }) => (nvirtual > 1 ? `${stage}${kind}${k}` : `${kind}${k}`);

// What a lane says at a time, and which of its blocks is under the cursor.
function point(lane, run, rank, at) {
  const now = lane.blocks.find(({ one }) => one.start <= at && at < one.end);
  lane.texts.now.textContent = now ? nowText(now.one, run) : "–";
  lane.texts.idle.textContent = at ? percentOf(idleUntil(run, at, rank), at) : "0 %";
  lane.texts.held.textContent = heldText(run, holds(run, rank, at));
  if (lane.lit === now) return;
  lane.lit?.box.classList.remove("bim-now");
  now?.box.classList.add("bim-now");
  lane.lit = now;
}

const heads = (to, form) => [
  label("bim-label bim-end", to.left - 8, 11, form.wide ? "now, held" : "now"),
  label("bim-label bim-end", to.width, 11, form.wide ? "idle so far" : "idle"),
];

// onHold(time) while a pointer has the cursor, onDrop(time) when it lets go. -> { node, show(time) }
export function picture(runs, width, onHold, onDrop) {
  const form = shapeOf(width, runs);
  const to = scale(width, runs, form);
  const own = (runs.length > 1 ? TITLE : 0) + form.lane * runs[0].nranks;
  const tops = runs.map((_, i) => HEAD + i * own + (runs.length > 1 ? TITLE : 0));
  const lanes = runs.map((run, i) => lanesOf(run, to, tops[i], form));
  const bottom = HEAD + own * runs.length;
  const flying = svg("g", { class: "bim-flying" });
  const cursor = svg(
    "g",
    { class: "bim-cursor" },
    line("", 0, 10, 0, bottom),
    svg("path", { d: "M-6 2h12v5l-6 7l-6 -7z" }),
  );
  const titles = runs.map((run, i) => runs.length > 1 && label("bim-name", 0, tops[i] - 8, run.title));
  const node = canvas(
    "bim-time bim-pipes",
    width,
    bottom + AXIS,
    "What every rank computes over time, and how many microbatches' activations it holds; drag to move through time",
    lanes.map((all) => all.map((lane) => lane.node)),
    titles,
    heads(to, form),
    axis(to, bottom + 2, form),
    cursor,
    flying,
  );
  hold(node, (px, ends) => (ends ? onDrop : onHold)(to.at(px)));
  const show = (at) => {
    moved(cursor, to.x(at), 0);
    runs.forEach((run, i) => lanes[i].forEach((lane, rank) => point(lane, run, rank, at)));
    flying.replaceChildren(...runs.flatMap((run, i) => underWay(run, at).map((one) => arrow(one, lanes[i], to, at))));
  };
  return { node, show };
}
