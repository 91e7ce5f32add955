// A rank is a rounded square with its number, in every view.
import { svg } from "./dom.mjs";
import { label, rect } from "./shapes.mjs";

// A switch has no colour: it holds nothing of its own.
export const rankClass = (rank, nranks) => (rank < nranks ? `bim-r${rank % 8}` : "bim-switch");

// Ranks from 8 on share a colour with rank - 8 and carry a second, inner line.
export function badge(rank, nranks, x, y, size) {
  const own = rank < nranks;
  const square = (kind, inset, rx) => rect(kind, x - size / 2 + inset, y - size / 2 + inset, size - 2 * inset, size - 2 * inset, rx);
  return svg("g", { class: `bim-badge ${rankClass(rank, nranks)}` },
    square("bim-rank", 0, own ? size / 5 : size / 2),
    rank >= 8 && own && size >= 16 && square("bim-second", 2, size / 7),
    label("", x, y, own ? rank : "S", Math.max(8, size * 0.42)));
}
