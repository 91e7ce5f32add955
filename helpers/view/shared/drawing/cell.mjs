// A chunk is a cell with slots, in every view.
import { label, rankClass, rect, svg } from "../page/dom.mjs";

export const GUTTER = 34; // the column of ranks, as wide in every view
const NARROW = 4; // pixels: slots narrower than this stand in several rows
const FLAT = 3; // which are at least so high
const LEAST = 1.6; // a slot smaller than this would not be seen: then one bar stands for all

// In how many rows n slots stand: in one, unless they would be narrow there and are wider in several.
export function slotRows(n, width, height) {
  let rows = 1;
  while (width / Math.ceil(n / rows) < NARROW && height / (2 * rows) >= FLAT) rows *= 2;
  return rows;
}

function slotShape({ origin, mark, state }, x, y, w, h) {
  const color = rankClass(origin, Infinity);
  return [
    rect(`bim-slot bim-${state} ${color}`, x, y, w, h, w >= 5 ? 2 : 0),
    state === "full" &&
      w >= 10 &&
      h >= 13 &&
      label(`bim-mark ${color}`, x + w / 2, y + h / 2, mark, Math.min(12, w * 0.8 + 2)),
    state === "double" && svg("path", { class: "bim-cross", d: `M${x} ${y}l${w} ${h}M${x + w} ${y}l${-w} ${h}` }),
  ];
}

// Too narrow for slots: one bar, as long as the share of slots that are filled; the one red as soon as one is wrong.
function slotBar(slots, x, y, w, h) {
  const share = slots.filter(({ state }) => state === "full" || state === "double").length / slots.length;
  const wrong = slots.some(({ state }) => state === "double" || state === "missing");
  return rect(`bim-${wrong ? "wrong" : share === 1 ? "whole" : "part"}`, x, y, w * share, h, 1);
}

// slots: [{ origin, mark, state }]; number: the value to print, or null. Returns a group with its corner at 0, 0.
export function cell(slots, w, h, number = null, kind = "") {
  const pad = w >= 30 && h >= 20 ? 3 : w >= 14 ? 2 : 1;
  const strip = number === null ? h - 2 * pad : h >= 24 ? 5 : 3;
  const [inner, top] = [w - 2 * pad, h - pad - strip];
  const rows = slotRows(slots.length, inner, strip);
  const each = Math.ceil(slots.length / rows);
  const [pitch, lane] = [inner / each, strip / rows];
  const gap = pitch >= 9 ? 2 : pitch >= 3 ? 1 : 0;
  const between = rows > 1 ? gap : 0;
  return svg(
    "g",
    { class: `bim-cell ${kind} ${slots.every(({ state }) => state === "empty") ? "bim-vacant" : ""}` },
    rect("bim-frame", 0.5, 0.5, w - 1, h - 1, Math.min(5, w / 5, h / 4)),
    slots.length > 1 && pitch < LEAST
      ? slotBar(slots, pad, top, inner, strip)
      : slots.map((slot, i) =>
          slotShape(
            slot,
            pad + (i % each) * pitch + gap / 2,
            top + Math.floor(i / each) * lane + between / 2,
            pitch - gap,
            lane - between,
          ),
        ),
    number !== null && label("bim-number", w / 2, top / 2 + 1, number, Math.max(9, Math.min(15, w * 0.46, h * 0.6))),
  );
}
