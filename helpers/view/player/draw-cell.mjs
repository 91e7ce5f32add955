// The two things that look the same in every view: a rank is a rounded square with its number, a chunk is a cell with slots.
import { svg } from "./dom.mjs";

export const rankClass = (rank) => `bim-r${rank % 8}`;

// Ranks from 8 on share a colour with rank - 8 and carry a second, inner line.
export function badge(rank, nranks, x, y, size) {
  const isSwitch = rank >= nranks;
  const half = size / 2;
  const box = { x: x - half, y: y - half, width: size, height: size, rx: isSwitch ? half : size / 5 };
  const inner = { x: x - half + 2, y: y - half + 2, width: size - 4, height: size - 4, rx: size / 7 };
  return svg("g", { class: `bim-badge ${isSwitch ? "bim-switch" : rankClass(rank)}` },
    svg("rect", { class: "bim-rank", ...box }),
    rank >= 8 && !isSwitch && size >= 16 && svg("rect", { class: "bim-second", ...inner }),
    svg("text", { x, y, "font-size": Math.max(8, size * 0.42) }, isSwitch ? "S" : `${rank}`));
}

const cross = (x, y, w, h) => svg("path", { class: "bim-cross", d: `M${x} ${y}l${w} ${h}M${x + w} ${y}l${-w} ${h}` });

function slot({ origin, mark, state }, x, y, w, h, rx) {
  const box = { x, y, width: Math.max(0.5, w), height: h, rx };
  const parts = [svg("rect", { class: `bim-slot bim-${state} ${rankClass(origin)}`, ...box })];
  if (state === "full" && w >= 10 && h >= 13) {
    parts.push(svg("text", { class: `bim-mark ${rankClass(origin)}`, x: x + w / 2, y: y + h / 2, "font-size": Math.min(12, w * 0.8 + 2) }, `${mark}`));
  }
  if (state === "double") parts.push(cross(x, y, w, h));
  return parts;
}

// Too narrow for slots: one bar, as long as the share of slots that are filled; the one red as soon as one is wrong.
function bar(slots, x, y, w, h, done) {
  const full = slots.filter((s) => s.state !== "empty" && s.state !== "missing").length;
  const wrong = slots.some((s) => s.state === "double" || s.state === "missing");
  const kind = wrong ? "bim-wrong" : full === slots.length ? "bim-whole" : "bim-part";
  return svg("rect", { class: `bim-bar ${kind}`, x, y, width: (w * full) / slots.length, height: h, rx: 1 });
}

// slots: [{ origin, mark, state }]; number: the value to print, or null. Returns a group with its corner at 0, 0.
export function cell(slots, w, h, { number = null, classes = "" } = {}) {
  const pad = w >= 30 && h >= 20 ? 3 : w >= 14 ? 2 : 1;
  const strip = number === null ? h - 2 * pad : h >= 24 ? 5 : 3;
  const [inner, top] = [w - 2 * pad, h - pad - strip];
  const pitch = inner / slots.length;
  const gap = pitch >= 9 ? 2 : pitch >= 4 ? 1 : 0;
  const held = slots.some((s) => s.state !== "empty");
  const drawn = slots.length > 1 && pitch < 1.6
    ? [bar(slots, pad, top, inner, strip)]
    : slots.flatMap((s, i) => slot(s, pad + i * pitch + gap / 2, top, pitch - gap, strip, pitch >= 6 ? 2 : 0));
  return svg("g", { class: `bim-cell ${held ? "" : "bim-vacant"} ${classes}` },
    svg("rect", { class: "bim-frame", x: 0.5, y: 0.5, width: w - 1, height: h - 1, rx: Math.min(5, w / 5, h / 4) }),
    drawn,
    number !== null && svg("text", { class: "bim-number", x: w / 2, y: (h - strip - pad) / 2 + 1, "font-size": Math.min(15, w * 0.46, h * 0.6) }, `${number}`));
}
