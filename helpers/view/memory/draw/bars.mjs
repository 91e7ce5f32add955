// A column per layer, stacked by class like the picture above it.
import { NOUNS } from "../panel/telling.mjs";
import { amount, withUnit } from "../trace/amounts.mjs";
import { byLayer, shortName } from "../trace/parts.mjs";

const HIGH = 104;
const FOOT = 16;
const LEFT = 52;
export const BARS_HEIGHT = HIGH + FOOT + 6;

// Where each layer's column stands: [{ x, w }]
function slots(count, width) {
  const step = (width - LEFT - 10) / count;
  return Array.from({ length: count }, (_, i) => ({
    x: LEFT + i * step,
    w: Math.max(1, Math.min(step - 1, step * 0.8, 40)),
  }));
}

export const layerAt = (names, width, x) => names[Math.floor(((x - LEFT) / (width - LEFT - 10)) * names.length)];

// view: { t, at, rows: layers, most, unit, width, ratio, unclassed }
export function paintBars(canvas, view, colours) {
  const { t, at, rows: names, most, width, ratio } = view;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(BARS_HEIGHT * ratio);
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.font = `11px ${colours.font}`;
  ctx.fillStyle = colours.edge;
  ctx.fillRect(LEFT, HIGH + 4, width - LEFT - 10, 1);
  ctx.fillStyle = colours.muted;
  ctx.textAlign = "right";
  ctx.textBaseline = "top";
  ctx.fillText(withUnit(most, view.unit).split(" ")[0], LEFT - 8, 2);
  const held = byLayer(t, at, names);
  const places = slots(names.length, width);
  names.forEach((name, l) => column(ctx, places[l], held.get(name), (HIGH - 2) / (most || 1), colours));
  captions(ctx, names, places, colours);
}

function column(ctx, { x, w }, bytes, scale, colours) {
  let y = HIGH + 4;
  bytes.forEach((nbytes, cls) => {
    if (!nbytes) return;
    const high = nbytes * scale;
    ctx.fillStyle = colours.classes[cls];
    ctx.fillRect(x, y - high, w, high);
    y -= high;
  });
}

function captions(ctx, names, places, colours) {
  ctx.fillStyle = colours.muted;
  ctx.textAlign = "center";
  let free = 0;
  names.forEach((name, l) => {
    const [text, middle] = [shortName(name), places[l].x + places[l].w / 2];
    const half = ctx.measureText(text).width / 2;
    if (middle - half < free) return;
    ctx.fillText(text, middle, HIGH + 8);
    free = middle + half + 6;
  });
}

// "layers.3 holds 183.20 MiB: 150.00 MiB activation, 33.20 MiB parameter." What rounds to nothing is left out.
export function layerText(name, bytes, unit) {
  const all = bytes.reduce((sum, one) => sum + one, 0);
  const parts = bytes.flatMap((nbytes, cls) =>
    Number(amount(nbytes, unit).replace(/,/g, "")) ? [[nbytes, `${withUnit(nbytes, unit)} ${NOUNS[cls]}`]] : [],
  );
  const told = parts
    .sort((a, b) => b[0] - a[0])
    .map(([, words]) => words)
    .join(", ");
  const more = parts.length > 1 ? `, of that ${told}` : told && `, ${told.split(" ").slice(2).join(" ")}`;
  return `${name ? `${name} holds` : "Of no module:"} ${withUnit(all, unit)}${more}.`;
}
