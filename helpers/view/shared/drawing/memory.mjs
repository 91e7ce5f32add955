// Memory: a row per rank, a column per chunk, a slot per origin; and beside it what each rank has sent and received.
import { badge, canvas, label, line, moved, rankClass, rect, svg } from "../page/dom.mjs";
import { shown } from "../page/motion.mjs";
import { nbytesText, times } from "../page/numbers.mjs";
import { owed, slotState } from "../schedules/cells.mjs";
import { sign, value } from "../schedules/schedule.mjs";
import { cell, GUTTER } from "./cell.mjs";

const HEAD = 34;
const BELOW = 4;
const LEAST = 84; // pixels of "least 96 MiB"
const SLIM = 200; // pixels: a picture narrower than this has no bars, of many chunks one narrower than twice this

export const memoryHeight = (places, row) => HEAD + row * places + BELOW;

const usualRow = (places) => (places <= 4 ? 52 : places <= 6 ? 42 : places <= 8 ? 34 : 22);

// Sizes for a width and a height of rows; wider than the width when even the narrowest columns do not fit: then the panel scrolls by
// itself.
function memorySizes({ columns, places }, width, numbers, row = usualRow(places)) {
  const [gap, least] =
    width < SLIM * (columns.length > 8 ? 2 : 1) ? [0, 0] : width >= 420 && columns.length <= 8 ? [20, 104] : [12, 64];
  const room = (width - GUTTER - gap - least) / columns.length;
  const pitch = Math.min(columns.length > 2 ? 76 : 112, Math.max(numbers ? 22 : 9, room));
  const barsAt = GUTTER + pitch * columns.length + gap;
  const bars = least && Math.min(200, Math.max(64, width - barsAt));
  return { row, pitch, bars, barsAt, width: Math.max(width, barsAt + bars), height: memoryHeight(places, row) };
}

// The slots of one cell as they look at a state; what does not matter at the end is idle.
export function cellLook(view, state, rank, column) {
  const done = state === view.last;
  const slots = column.slots.map((slot) => {
    const count = view.run.counts(state, rank, slot.chunk)[slot.origin];
    return { ...slot, state: slotState(count, owed(view.after, rank, slot), done) };
  });
  return { slots, idle: done && column.slots.every((slot) => owed(view.after, rank, slot) < 0) };
}

// The values that a rank holds in a column: one, or in all_to_all one per chunk that is there.
export function valuesIn(view, state, rank, column) {
  const chunks = new Set(column.slots.map(({ chunk }) => chunk));
  return [...chunks].map((chunk) => value(view.run.counts(state, rank, chunk), chunk)).filter((v) => v !== null);
}

// The step's own cells: those it reads, and over them those it writes.
export function touched(step = []) {
  const marks = new Map(step.map(({ src, chunk }) => [`${src},${chunk}`, "bim-sends"]));
  for (const { dst, chunk } of step) marks.set(`${dst},${chunk}`, "bim-gets");
  return marks;
}

const badgeSize = (row) => Math.min(26, row - 1);

function cells(view, { pitch, row: tall }, { state, step }, numbers) {
  const marks = touched(view.schedule.steps[step - 1]);
  const [w, h] = [pitch - (pitch > 30 ? 6 : 3), tall - (tall > 30 ? 10 : tall > 20 ? 5 : 3)];
  const row = (rank) =>
    view.columns.map((column, i) => {
      const { slots, idle } = cellLook(view, state, rank, column);
      const mark = column.slots.map(({ chunk }) => marks.get(`${rank},${chunk}`)).find(Boolean) ?? "";
      const held = numbers ? valuesIn(view, state, rank, column) : [];
      const number = numbers ? (held.length > 1 ? `×${held.length}` : (held[0] ?? "")) : null;
      return moved(
        cell(slots, w, h, number, `${mark} ${idle ? "bim-idle" : ""}`),
        GUTTER + i * pitch,
        HEAD + rank * tall + (tall - h) / 2,
      );
    });
  return times(view.places, (rank) => svg("g", {}, row(rank)));
}

// Of narrow columns only some are named: the names keep apart.
export function namedEvery(pitch, digits) {
  const wide = 7 * digits + 4;
  return [1, 2, 4, 8, 16].find((every) => every * pitch > wide) ?? 32;
}

function heads({ columns, schedule }, { pitch }) {
  const every = namedEvery(pitch, columns[columns.length - 1].label.length);
  return [
    label("bim-label", GUTTER, 11, schedule.collective === "all_to_all" ? "from rank" : "chunk"),
    columns.map(
      (column, i) => i % every === 0 && label("bim-label bim-middle", GUTTER + (i + 0.5) * pitch - 3, 27, column.label),
    ),
  ];
}

// Bytes per rank: sent solid, received pale, against the least that the busiest port must carry (dashed: a prediction).
function traffic({ cost, places, schedule, last }, { barsAt, bars, row, height }, state) {
  const most = Math.max(cost.least, ...cost.sent[last], ...cost.received[last]) || 1;
  const length = (bytes) => (bytes / most) * (bars - 2);
  const tall = row > 30 ? 6 : 4;
  const at = barsAt + length(cost.least);
  const wide = bars > 90;
  const left = at - barsAt > LEAST; // of the line; else right of it, if there is room
  const whole = left || barsAt + bars - at > LEAST;
  return [
    label("bim-label", barsAt, 11, wide ? "sent, received" : "bytes"),
    label(
      `bim-label ${left || !wide ? "bim-end" : ""}`,
      at,
      27,
      wide && whole ? `least ${nbytesText(cost.least)}` : "least",
    ),
    line("bim-least", at, HEAD, at, height - BELOW),
    times(places, (rank) => {
      const y = HEAD + (rank + 0.5) * row;
      const bar = (kind, bytes, top) =>
        rect(`${kind} ${rankClass(rank, schedule.nranks)}`, barsAt, top, length(bytes), tall, 1);
      return [
        line("bim-base", barsAt, y - tall - 3, barsAt, y + tall + 3),
        bar("bim-sent", cost.sent[state][rank], y - tall - 1),
        bar("bim-got", cost.received[state][rank], y + 1),
      ];
    }),
  ];
}

// The whole view at a position, as one svg; row: pixels of a rank's row.
export function drawMemory(view, position, width, numbers, row) {
  const sizes = memorySizes(view, width, numbers, row);
  const now = shown(position);
  const { schedule } = view;
  const badges = times(view.places, (rank) =>
    badge(rank, schedule.nranks, 13, HEAD + (rank + 0.5) * sizes.row, badgeSize(sizes.row), sign(schedule, rank)),
  );
  return canvas(
    "bim-memory",
    sizes.width,
    sizes.height,
    "Who holds what; the table below says the same",
    heads(view, sizes),
    badges,
    cells(view, sizes, now, numbers),
    sizes.bars > 0 && traffic(view, sizes, now.state),
  );
}
