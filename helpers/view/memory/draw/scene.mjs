// Around the areas: phases above, marks, layers and time below, the peak and the chosen moment.
import { thousands, timeText, withUnit } from "../trace/amounts.mjs";
import { OOM } from "../trace/snapshot.mjs";
import { shortName } from "../trace/parts.mjs";
import { inBlocksOf, reservedOf } from "../trace/store.mjs";
import { areas, grid, inner, line, MARGIN, thin } from "./chart.mjs";
import { limitLine } from "./over.mjs";

const ROW = 14; // a line of words above the picture

const spanOf = (box, axis, { from, to }) => {
  const [a, b] = [from, to].map((i) => box.x + Math.min(1, Math.max(0, axis.place(i))) * box.w);
  return [a, b - a];
};

// Phases: bands behind everything, their names above, where there is room.
function bands(ctx, box, view, colours) {
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  view.phases.forEach((phase, p) => {
    const [x, w] = spanOf(box, view.axis, phase);
    if (w <= 0) return;
    if (p % 2 === 0) {
      ctx.fillStyle = colours.well;
      ctx.fillRect(x, box.y - 2 * ROW - 6, w, box.h + 2 * ROW + 6);
    }
    ctx.fillStyle = colours.muted;
    if (ctx.measureText(phase.name).width + 6 <= w) ctx.fillText(phase.name, x + w / 2, box.y - 2 * ROW + 2);
  });
}

// Layers: a strip under the picture, every other run darker, numbers where they fit.
function layers(ctx, box, view, colours) {
  const y = box.y + box.h + 2;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  let free = box.x;
  view.layers.forEach((layer, l) => {
    const [x, w] = spanOf(box, view.axis, layer);
    if (w <= 0) return;
    ctx.fillStyle = l % 2 ? colours.line : colours.edge;
    ctx.fillRect(x, y, Math.max(w, 0.5), 4);
    const text = shortName(layer.name);
    const half = ctx.measureText(text).width / 2;
    const middle = Math.min(Math.max(x + w / 2, box.x + half), box.x + box.w - half);
    if (middle - half < free || (w < 3 && text.length > 3)) return;
    ctx.fillStyle = colours.muted;
    ctx.fillText(text, middle, y + 7);
    free = middle + half + 8;
  });
}

function marks(ctx, box, view, colours) {
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  const shown = view.marks
    .map(([i, name]) => [box.x + view.axis.place(i) * box.w, name])
    .filter(([x]) => x >= box.x - 0.5 && x <= box.x + box.w);
  let free = 0;
  shown.forEach(([x, name], m) => {
    ctx.fillStyle = name === OOM ? colours.wrong : colours.ink;
    ctx.beginPath();
    ctx.arc(x, box.y - ROW + 2, 2.5, 0, 7);
    ctx.fill();
    ctx.globalAlpha = 0.25;
    ctx.fillRect(x, box.y - ROW + 4, 1, box.h + ROW - 4);
    ctx.globalAlpha = 1;
    const width = ctx.measureText(name).width;
    const next = shown[m + 1]?.[0] ?? box.x + box.w + MARGIN.right;
    if (x < free || x + 6 + width > next - 4) return;
    ctx.fillText(name, x + 6, box.y - ROW + 2);
    free = x + 10 + width;
  });
}

// The true peak: a triangle over it and its bytes, on the side where there is room.
function peak(ctx, box, view, colours, y) {
  const { t, axis } = view;
  const share = axis.place(t.peak + 0.5);
  if (share < 0 || share > 1) return;
  const [x, top] = [box.x + share * box.w, y(t.total[t.peak])];
  ctx.fillStyle = colours.ink;
  ctx.beginPath();
  ctx.moveTo(x, top - 1);
  ctx.lineTo(x - 5, top - 9);
  ctx.lineTo(x + 5, top - 9);
  ctx.fill();
  ctx.font = `600 12px ${colours.font}`;
  const left = share > 0.6;
  ctx.textAlign = left ? "right" : "left";
  ctx.textBaseline = "middle";
  ctx.lineWidth = 3;
  ctx.strokeStyle = colours.panel;
  const words = [`peak ${withUnit(t.total[t.peak], view.unit)}`, x + (left ? -9 : 9), Math.max(top - 8, box.y + 6)];
  ctx.strokeText(...words);
  ctx.fillText(...words);
}

function cursor(ctx, box, view, colours, y) {
  const from = view.axis.place(view.at);
  if (from < -1e-9 || from > 1) return;
  const x = box.x + Math.min(1, (from + Math.min(1, view.axis.place(view.at + 1))) / 2) * box.w;
  ctx.fillStyle = colours.ink;
  ctx.fillRect(Math.round(x) - 0.5, box.y - 4, 1.5, box.h + 8);
  ctx.beginPath();
  ctx.arc(x, y(view.t.total[view.at]), 3.5, 0, 7);
  ctx.fill();
  ctx.strokeStyle = colours.panel;
  ctx.lineWidth = 1.5;
  ctx.stroke();
}

function times(ctx, box, view, colours) {
  const { axis } = view;
  const words = (share) =>
    axis.mode === "seconds"
      ? timeText(Math.round(axis.value(share)))
      : `event ${thousands(`${Math.round(axis.value(share))}`)}`;
  ctx.fillStyle = colours.muted;
  ctx.textBaseline = "bottom";
  ctx.textAlign = "left";
  ctx.fillText(words(0), box.x, view.height - 1);
  ctx.textAlign = "right";
  ctx.fillText(words(1), box.x + box.w, view.height - 1);
}

// A rank in its colour; what is compared with, wider, in the accent.
function drawnAs({ rank, text }, share, colours) {
  const alike = { text, ground: colours.panel };
  return rank === null
    ? { ...alike, share: 1, colour: colours.accent, width: 2 }
    : { ...alike, share, colour: colours.ranks[rank % 8] };
}

// view: { t, others: [{ t, rank, text }], axis, over, colour, lit, at, unit,
// top, drawn, limit, phases, layers, marks, unclassed, width, height, ratio }
export function paint(canvas, view, colours) {
  const { width, height, ratio } = view;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  ctx.font = `11px ${colours.font}`;
  const box = inner(width, height);
  const y = (nbytes) => box.y + box.h * (1 - nbytes / view.top);
  bands(ctx, box, view, colours);
  grid(ctx, box, view, colours, y);
  if (!view.t.n) return;
  areas(ctx, box, view, colours, y);
  view.others.forEach((other, o) =>
    thin(ctx, box, other.t, view.axis, drawnAs(other, (o + 1) / (view.others.length + 1), colours), y, ratio),
  );
  const said = { colour: colours.ink, end: view.axis.place(view.t.n) };
  line(ctx, box, view.axis, reservedOf(view.t), y, said);
  line(ctx, box, view.axis, inBlocksOf(view.t), y, { ...said, dash: [1, 3] });
  layers(ctx, box, view, colours);
  marks(ctx, box, view, colours);
  times(ctx, box, view, colours);
  limitLine(ctx, box, view, colours, y);
  peak(ctx, box, view, colours, y);
  cursor(ctx, box, view, colours, y);
}
