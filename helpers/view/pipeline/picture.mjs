// The schedules over one time axis. For every rank its computations as blocks, under them which of its stages are whole, where they are
// sharded, and as steps whose activations it holds; the cursor, and the messages that are under way there.
import { canvas, hold, label, line, moved, rect, svg } from "../shared/page/dom.mjs";
import { percentOf, ticks, times } from "../shared/page/numbers.mjs";
import { GRAINS, holds, idleUntil, wordOf } from "./timeline.mjs";
import { gatheredBy, heldText, timeText, underWay } from "./words.mjs";

// What each computation wears, of the series' colours.
export const WEARS = { F: "bim-s0", B: "bim-s1", I: "bim-s3", W: "bim-s2" };
const [HEAD, TITLE, AXIS, ROOM] = [20, 24, 34, 380];
const LETTER = 6.4; // pixels of a figure in a block
const SHARD = 5; // pixels of a stage that is whole

// Left and right of the time, and how high a lane is: a block, 3 pixels, where stages are sharded a line for each, a strip.
function shapeOf(width, runs) {
  const wide = width >= 560;
  const room = (ROOM * (runs.length > 1 ? 1.4 : 1)) / (runs.length * runs[0].nranks);
  const free = Math.max(38, Math.min(62, Math.floor(room)));
  const high = Math.round(free * 0.42);
  const isSharded = runs[0].events[0].length > runs[0].lanes[0].length;
  const shards = isSharded ? SHARD * Math.max(...runs.map(({ nvirtual }) => nvirtual)) + 4 : 0;
  const [left, right] = wide ? [98, 68] : [54, 48];
  return { wide, lane: free + shards, high, shards, strip: free - high - 9, left, right };
}

function scale(width, runs, form) {
  const end = Math.max(...runs.map(({ makespan }) => makespan));
  const most = Math.max(...runs.flatMap(({ peaks, nvirtual }) => peaks.map((peak) => peak / nvirtual)));
  const room = width - form.left - form.right;
  const x = (grains) => form.left + (grains / end) * room;
  return { left: form.left, width, end, most, x, at: (px) => Math.min(1, Math.max(0, (px - form.left) / room)) * end };
}

const axis = (to, y, { wide }) => [
  line("bim-axis", to.x(0), y, to.x(to.end), y),
  ticks(to.end / GRAINS, wide ? 10 : 5).map((t) => [
    line("bim-axis", to.x(t * GRAINS), y, to.x(t * GRAINS), y + 4),
    label("bim-label bim-middle", to.x(t * GRAINS), y + 16, timeText(t * GRAINS)),
  ]),
  label("bim-label bim-end", to.left - 8, y + 16, "time"),
];

// What a block says, as far as it fits: letter and microbatch, or the microbatch alone.
const worded = ({ kind, k }, room) => [`${kind}${k}`, `${k}`].find((words) => words.length * LETTER + 3 <= room);

function block(one, to, y, { high }, nranks) {
  const [a, b] = [to.x(one.start), to.x(one.end)];
  const gap = b - a > 5 ? 1 : 0;
  const words = worded(one, b - a);
  const worn = `${WEARS[one.kind]} bim-shade-${Math.floor(one.stage / nranks)}`;
  const box = rect(`bim-block ${worn}`, a, y, b - a - gap, high, gap ? 2 : 0);
  return { one, box, said: words && label(`bim-in bim-middle ${worn}`, (a + b - gap) / 2, y + high / 2 + 4, words) };
}

// A line for each of the rank's stages: where it is whole, a notch where it is gathered; and when its gradients are reduced.
function shardsOf(run, rank, to, top) {
  const { whole, reduced } = gatheredBy(run, rank);
  const y = (stage) => top + SHARD * Math.floor(stage / run.nranks);
  const bars = whole.map(({ stage, start, end }) => {
    const [a, b] = [to.x(start), to.x(end)];
    return [rect("bim-whole", a, y(stage), b - a - 1, SHARD - 2), rect("bim-gather", a, y(stage) - 1, 2, SHARD)];
  });
  const mark = ({ stage, start }) => `M${to.x(start).toFixed(1)} ${y(stage) + 1.5}l-4 -4l-4 4l4 4z`;
  return [bars, reduced.map((one) => svg("path", { class: "bim-reduce", d: mark(one) }))];
}

// The outline of something held over time: [[from when on, how much]], up to the whole time.
function outline(steps, to, base, unit) {
  const path = steps.map(([at, much]) => `H${to.x(at).toFixed(1)}V${(base - much * unit).toFixed(1)}`);
  return `M${to.x(0).toFixed(1)} ${base}${path.join("")}H${to.x(to.end).toFixed(1)}V${base}z`;
}

// Held for their backward, above it held for their weights alone, and the moment of the most.
function holding(run, rank, to, base, { strip }) {
  const unit = (strip - 2) / to.most / run.nvirtual;
  const lane = run.held[rank];
  const [all, whole] = [({ whole: a, weights: b }) => a + b, ({ whole: a }) => a].map((of) =>
    lane.map((one) => [one.end, of(one)]),
  );
  const first = lane.find((one) => one.whole + one.weights === run.peaks[rank]);
  const top = base - run.peaks[rank] * unit;
  return [
    svg("path", { class: "bim-late-held", d: outline(all, to, base, unit) }),
    svg("path", { class: "bim-held", d: outline(whole, to, base, unit) }),
    line("bim-base", to.x(0), base, to.x(to.end), base),
    svg("path", { class: "bim-peak", d: `M${to.x(first.end).toFixed(1)} ${top.toFixed(1)}l-4 -6h8z` }),
  ];
}

// -> { node, blocks: [{ one, box }], texts, middle } of a rank
function laneOf(run, rank, to, top, form) {
  const blocks = run.lanes[rank].map((one) => block(one, to, top, form, run.nranks));
  const base = top + form.high + 3 + form.shards + form.strip;
  const middle = top + form.high / 2;
  const texts = {
    now: label("bim-tag bim-end", to.left - 8, middle + 4, ""),
    idle: label("bim-label bim-end", to.width, middle + 4, ""),
    held: label("bim-label bim-end", to.left - 8, base - 1, ""),
  };
  const node = [
    rect("bim-lane", to.x(0), top, to.x(run.makespan) - to.x(0), form.high),
    holding(run, rank, to, base, form),
    shardsOf(run, rank, to, top + form.high + 4),
    blocks.map(({ box }) => box),
    blocks.map(({ said }) => said),
    label("bim-label bim-rank-name", 0, middle + 4, form.wide ? `rank ${rank}` : `${rank}`),
    label("bim-label bim-end", to.width, base - 1, `${form.wide ? "peak " : "▾"}${heldText(run, run.peaks[rank])}`),
    Object.values(texts),
  ];
  return { node, blocks, texts, middle };
}

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
    { class: `bim-message ${WEARS[kind]}` },
    svg("path", { class: "bim-casing", d: way }),
    svg("path", { class: "bim-way", d: way }),
    svg("path", { class: "bim-arrow", d: `M${x1.toFixed(1)} ${y1}${wing(0.45)}${wing(-0.45)}z` }),
    gone !== null && svg("circle", { class: "bim-packet", cx: on(x0, cx, x1), cy: on(y0, cy, y1), r: 4 }),
  );
}

// What a lane says at a time, and which of its blocks is under the cursor.
function point(lane, run, rank, at) {
  const now = lane.blocks.find(({ one }) => one.start <= at && at < one.end);
  const nowText = ({ one }) => wordOf(run.nvirtual > 1 ? one : { ...one, stage: "" });
  lane.texts.now.textContent = now ? nowText(now) : "–";
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
  const lanes = runs.map((run, i) => times(run.nranks, (r) => laneOf(run, r, to, tops[i] + r * form.lane, form)));
  const bottom = HEAD + own * runs.length;
  const flying = svg("g", { class: "bim-flying" });
  const arrowhead = svg("path", { d: "M-6 2h12v5l-6 7l-6 -7z" });
  const cursor = svg("g", { class: "bim-cursor" }, line("", 0, 10, 0, bottom), arrowhead);
  const node = canvas(
    "bim-time bim-pipes",
    width,
    bottom + AXIS,
    "What every rank computes over time, and how many microbatches' activations it holds; drag to move through time",
    lanes.map((all) => all.map((lane) => lane.node)),
    runs.map((run, i) => runs.length > 1 && label("bim-name", 0, tops[i] - 8, run.title)),
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
