// The few shapes that every drawing is made of.
import { set, svg } from "./dom.mjs";

// A picture; the same is said in words elsewhere, so it needs a name only.
export const canvas = (kind, width, height, label, ...children) =>
  svg("svg", { class: kind, width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, children);

export const rect = (kind, x, y, width, height, rx) => svg("rect", { class: kind, x, y, width: Math.max(0, width), height, rx });

export const line = (kind, x1, y1, x2, y2) => svg("line", { class: kind, x1, y1, x2, y2 });

export const label = (kind, x, y, text, size) => svg("text", { class: kind, x, y, "font-size": size }, `${text}`);

export const moved = (node, x, y) => set(node, { transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` });
