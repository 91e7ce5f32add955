// The reader's curve beside the nearest published one and the prediction: busbw over size.
import { canvas, h, label, legend, line, svg } from "../shared/page/dom.mjs";
import { bandwidthText, nbytesText } from "../shared/page/numbers.mjs";

const HIGH = 250;
const ROOM = { left: 44, right: 16, top: 36, bottom: 28 };

const isDrawn = ({ busbw }) => busbw > 0;

// A round number of GB/s, at least a third of what is drawn.
function stepOf(most) {
  const grain = 10 ** Math.floor(Math.log10(most / 3));
  return [1, 2, 5, 10].map((n) => n * grain).find((step) => most / step <= 4);
}

function scales({ points, nearest, predicted, line_rate }, width) {
  const all = [...points, ...(nearest[0]?.points ?? []), ...predicted];
  const sizes = points.map(({ nbytes }) => Math.log2(nbytes));
  const [low, high] = [Math.min(...sizes), Math.max(...sizes)];
  const inside = all.filter(({ nbytes }) => Math.log2(nbytes) >= low && Math.log2(nbytes) <= high);
  const most = Math.max(...inside.map(({ busbw }) => busbw), line_rate ?? 0, 1) * 1.04;
  const wide = width - ROOM.left - ROOM.right;
  const x = (nbytes) => ROOM.left + (wide * (Math.log2(nbytes) - low)) / Math.max(1, high - low);
  const y = (busbw) => HIGH - ROOM.bottom - ((HIGH - ROOM.bottom - ROOM.top) * busbw) / most;
  return { x, y, low, high, most };
}

function curve(kind, points, { x, y, low, high }) {
  const drawn = points.filter(isDrawn).filter(({ nbytes }) => Math.log2(nbytes) >= low && Math.log2(nbytes) <= high);
  const way = drawn.map(({ nbytes, busbw }, at) => `${at ? "L" : "M"}${x(nbytes).toFixed(1)} ${y(busbw).toFixed(1)}`);
  const dots = kind === "bim-mine" || drawn.length === 1;
  return svg(
    "g",
    { class: kind },
    svg("path", { d: way.join("") }),
    dots && drawn.map(({ nbytes, busbw }) => svg("circle", { cx: x(nbytes), cy: y(busbw), r: 2.5 })),
  );
}

function axes({ x, y, low, high, most }, width) {
  const step = stepOf(most / 1e9) * 1e9;
  const rates = Array.from({ length: Math.floor(most / step) + 1 }, (_, k) => k * step);
  const apart = Math.max(1, Math.ceil((72 * (high - low)) / width)); // powers of two between two words
  const sizes = Array.from({ length: Math.floor((high - low) / apart) + 1 }, (_, k) => 2 ** (low + k * apart));
  return svg(
    "g",
    { class: "bim-axes" },
    rates.map((rate) => [
      line("bim-grid", ROOM.left, y(rate), width - ROOM.right, y(rate)),
      label("bim-rate", ROOM.left - 6, y(rate) + 4, `${+(rate / 1e9).toPrecision(3)}`, 12),
    ]),
    sizes.map((nbytes) => label("bim-size", x(nbytes), HIGH - 8, nbytesText(nbytes), 12)),
    label("bim-unit", 0, 12, "GB/s busbw, one way per GPU", 12),
  );
}

function rateLine({ line_rate }, { y }, width) {
  if (!line_rate) return null;
  const words = `line rate ${bandwidthText(line_rate)}`;
  return svg(
    "g",
    { class: "bim-line-rate" },
    line("", ROOM.left, y(line_rate), width - ROOM.right, y(line_rate)),
    label("", ROOM.left + 6, y(line_rate) - 5, words, 12),
  );
}

// A mark under each size at which the curve bends.
const marks = ({ bends }, { x }) =>
  bends.map(({ nbytes }) => line("bim-bend", x(nbytes), ROOM.top, x(nbytes), HIGH - ROOM.bottom));

// Nothing of a table without two sizes.
export function chart(found, width) {
  if (found.points.filter(isDrawn).length < 2 || width < 80) return null;
  const scale = scales(found, width);
  const [near] = found.nearest;
  const picture = canvas(
    "bim-curves",
    width,
    HIGH,
    "busbw over size: yours, the nearest published run, and the prediction. The same as a table stands below.",
    axes(scale, width),
    rateLine(found, scale, width),
    marks(found, scale),
    near && curve("bim-near", near.points, scale),
    curve("bim-foretold", found.predicted, scale),
    curve("bim-mine", found.points, scale),
  );
  const kinds = {
    mine: "yours",
    ...(near && { near: near.title }),
    ...(found.predicted.length > 0 && { foretold: "predicted" }),
  };
  return h("div", {}, picture, legend(kinds));
}
