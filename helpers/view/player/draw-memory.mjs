// Memory: a row per rank, a column per chunk, a slot per origin; and beside it what each rank has sent and received.
import { owed, slotState } from "./cells.mjs";
import { shown } from "./clock.mjs";
import { set, svg } from "./dom.mjs";
import { badge, cell, rankClass } from "./draw-cell.mjs";
import { value } from "./replay.mjs";
import { nbytesText } from "./units.mjs";

const TOP = 40;
const GUTTER = 34;

// Sizes for a width; wider than the width when even the narrowest columns do not fit: then the panel scrolls by itself.
export function memorySizes({ columns, places }, width, numbers) {
  const row = places <= 4 ? 52 : places <= 6 ? 42 : places <= 8 ? 34 : 22;
  const gap = width >= 420 ? 20 : 12;
  const least = numbers ? 26 : 9;
  const room = width - GUTTER - gap - (width >= 420 ? 104 : 64);
  const pitch = Math.min(76, Math.max(least, room / columns.length));
  const barsAt = GUTTER + pitch * columns.length + gap;
  const bars = Math.min(180, Math.max(64, width - barsAt));
  return { row, pitch, bars, barsAt, width: Math.max(width, barsAt + bars), height: TOP + row * places + 4 };
}

// The slots of one cell as they look at a state; what does not matter at the end is dimmed.
export function cellLook(view, state, rank, column) {
  const done = state === view.last;
  const slots = column.slots.map((slot) => {
    const count = view.run.counts(state, rank, slot.chunk)[slot.origin];
    return { ...slot, state: slotState(count, owed(view.after, rank, slot), done) };
  });
  const idle = done && column.slots.every((slot) => owed(view.after, rank, slot) < 0);
  return { slots, idle };
}

// The number in a cell: its chunk's value; a column of several chunks (all_to_all) shows how many it holds until it is one.
function numberIn(view, state, rank, column) {
  const chunks = [...new Set(column.slots.map((slot) => slot.chunk))];
  const values = chunks.map((c) => value(view.run.counts(state, rank, c), c)).filter((v) => v !== null);
  return values.length > 1 ? `×${values.length}` : values[0] ?? "";
}

// Cells that the step on show reads or writes: `${rank},${chunk}` -> "bim-sends" | "bim-gets"
function touched(view, step) {
  const marks = new Map();
  for (const { src, dst, chunk } of view.schedule.steps[step - 1] ?? []) {
    if (!marks.has(`${src},${chunk}`)) marks.set(`${src},${chunk}`, "bim-sends");
    marks.set(`${dst},${chunk}`, "bim-gets");
  }
  return marks;
}

function cells(view, sizes, { state, step }, numbers) {
  const marks = touched(view, step);
  const [w, h] = [sizes.pitch - (sizes.pitch > 20 ? 6 : 2), sizes.row - (sizes.row > 30 ? 10 : 5)];
  const group = svg("g");
  for (let rank = 0; rank < view.places; rank++) view.columns.forEach((column, i) => {
    const { slots, idle } = cellLook(view, state, rank, column);
    const mark = column.slots.map((slot) => marks.get(`${rank},${slot.chunk}`)).find(Boolean) ?? "";
    const number = numbers ? numberIn(view, state, rank, column) : null;
    const one = cell(slots, w, h, { number, classes: `${mark} ${idle ? "bim-idle" : ""}` });
    group.append(set(one, { transform: `translate(${(GUTTER + i * sizes.pitch).toFixed(1)} ${TOP + rank * sizes.row + (sizes.row - h) / 2})` }));
  });
  return group;
}

function head(view, sizes) {
  const title = view.schedule.collective === "all_to_all" ? "from rank" : "chunk";
  const every = sizes.pitch >= 15 ? 1 : sizes.pitch >= 9 ? 2 : 4;
  const labels = view.columns.map((column, i) => i % every === 0 &&
    svg("text", { class: "bim-label bim-middle", x: GUTTER + (i + 0.5) * sizes.pitch - 3, y: 32 }, column.label));
  return svg("g", {}, svg("text", { class: "bim-label", x: GUTTER, y: 14 }, title), labels);
}

// Bytes per rank: sent solid, received pale, against the least that the busiest port must carry (dashed: a prediction).
function traffic(view, sizes, state) {
  const { cost, places, schedule } = view;
  const most = Math.max(cost.least, ...cost.sent[view.last], ...cost.received[view.last]) || 1;
  const x = (bytes) => sizes.barsAt + (bytes / most) * (sizes.bars - 2);
  const tall = sizes.row > 30 ? 6 : 4;
  const line = (kind, bytes, rank, y) => svg("rect", { class: `bim-${kind} ${rank < schedule.nranks ? rankClass(rank) : ""}`, x: sizes.barsAt, y, width: x(bytes) - sizes.barsAt, height: tall, rx: 1 });
  const rows = Array.from({ length: places }, (_, rank) => {
    const y = TOP + rank * sizes.row + sizes.row / 2;
    return [
      svg("line", { class: "bim-base", x1: sizes.barsAt, x2: sizes.barsAt, y1: y - tall - 3, y2: y + tall + 3 }),
      line("sent", cost.sent[state][rank], rank, y - tall - 1),
      line("got", cost.received[state][rank], rank, y + 1),
    ];
  });
  const at = x(cost.least);
  return svg("g", {},
    svg("text", { class: "bim-label", x: sizes.barsAt, y: 14 }, sizes.bars > 90 ? "sent, received" : "bytes"),
    svg("text", { class: "bim-label bim-end", x: at + 2, y: 32 }, sizes.bars > 90 ? `least ${nbytesText(cost.least)}` : "least"),
    svg("line", { class: "bim-least", x1: at, x2: at, y1: TOP, y2: TOP + sizes.row * places }),
    rows);
}

// The whole view at a position, as one svg.
export function drawMemory(view, position, width, numbers) {
  const sizes = memorySizes(view, width, numbers);
  const now = shown(position);
  const ranks = Array.from({ length: view.places }, (_, rank) =>
    badge(rank, view.schedule.nranks, 13, TOP + rank * sizes.row + sizes.row / 2, sizes.row > 30 ? 26 : 19));
  return svg("svg", { class: "bim-memory", width: sizes.width, height: sizes.height, viewBox: `0 0 ${sizes.width} ${sizes.height}`, role: "img", "aria-label": "Who holds what; the table below says the same" },
    head(view, sizes), ranks, cells(view, sizes, now, numbers), traffic(view, sizes, now.state));
}
