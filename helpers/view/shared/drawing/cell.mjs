// A chunk is a cell with slots, in every view.
import { svg } from "../page/dom.mjs";
import { rankClass, label, rect } from "../page/shapes.mjs";

export const GUTTER = 34; // the column of ranks, as wide in every view

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
  const pitch = inner / slots.length;
  const gap = pitch >= 9 ? 2 : pitch >= 4 ? 1 : 0;
  return svg(
    "g",
    { class: `bim-cell ${kind} ${slots.every(({ state }) => state === "empty") ? "bim-vacant" : ""}` },
    rect("bim-frame", 0.5, 0.5, w - 1, h - 1, Math.min(5, w / 5, h / 4)),
    slots.length > 1 && pitch < 1.6
      ? slotBar(slots, pad, top, inner, strip)
      : slots.map((slot, i) => slotShape(slot, pad + i * pitch + gap / 2, top, pitch - gap, strip)),
    number !== null && label("bim-number", w / 2, top / 2 + 1, number, Math.max(9, Math.min(15, w * 0.46, h * 0.6))),
  );
}
