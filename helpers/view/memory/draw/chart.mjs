// The picture: phase bands behind, areas by class from the bottom, lines for the limit, for what is reserved and for other ranks.
import { ticks } from "../trace/amounts.mjs";
import { alike, columns } from "./axis.mjs";
import { paintBlocks, paintLit } from "./blocks.mjs";
import { filled } from "./colours.mjs";

export const MARGIN = { left: 52, right: 10, top: 44, bottom: 40 };
const FAR = 2.5; // a limit so many times above all else would press the picture flat: it is told, not drawn

export const inner = (width, height) => ({
  x: MARGIN.left,
  y: MARGIN.top,
  w: Math.max(10, width - MARGIN.left - MARGIN.right),
  h: height - MARGIN.top - MARGIN.bottom,
});

// The bytes at the top of the picture, and whether the limit is in it.
export function ceiling(most, limit) {
  const drawn = limit > 0 && limit <= FAR * most;
  return { top: 1.06 * Math.max(most, drawn ? limit : 0, 1), drawn };
}

// Tops of the areas, column by column: heights[band][x] in bytes, stacked; -1 where nothing is drawn.
export function stack(t, bands, chosen) {
  const heights = bands.names.map(() => new Float64Array(chosen.length));
  bands.at(t, chosen).forEach((held, x) => {
    let sum = 0;
    heights.forEach((tops, b) => {
      sum += held[b] ?? 0;
      tops[x] = held.length ? sum : -1;
    });
  });
  return heights;
}

// One path over columns as steps: along the tops, and back along the bottoms (null: the ground).
function outline(ctx, box, tops, bottoms, y) {
  const at = (x) => box.x + (x * box.w) / tops.length;
  let end = tops.length;
  while (end && tops[end - 1] < 0) end -= 1;
  ctx.beginPath();
  for (let x = 0; x < end; x++) {
    ctx.lineTo(at(x), y(tops[x]));
    ctx.lineTo(at(x + 1), y(tops[x]));
  }
  for (let x = end - 1; x >= 0; x--) {
    ctx.lineTo(at(x + 1), y(bottoms ? bottoms[x] : 0));
    ctx.lineTo(at(x), y(bottoms ? bottoms[x] : 0));
  }
  ctx.closePath();
}

export function areas(ctx, box, view, colours, y) {
  const chosen = columns(view.t, view.axis, Math.max(1, Math.round(box.w * view.ratio)));
  const heights = stack(view.t, view.bands, chosen);
  heights.forEach((tops, b) => {
    const bottoms = b ? heights[b - 1] : null;
    if (!tops.some((top, x) => top > (bottoms ? bottoms[x] : 0))) return;
    outline(ctx, box, tops, bottoms, y);
    filled(ctx, colours, view.bands.ink(b));
    ctx.strokeStyle = colours.panel;
    ctx.lineWidth = 0.5;
    ctx.stroke();
  });
  if (view.colour === "block") paintBlocks(ctx, box, view, colours, chosen, y);
  if (view.lit) paintLit(ctx, box, view, colours, chosen, y);
  if (view.drawn && view.t.total[view.t.peak] > view.limit) beyond(ctx, box, heights.at(-1), view, colours, y);
}

// What does not fit under the limit: striped in the one red.
function beyond(ctx, box, tops, { limit }, colours, y) {
  ctx.save();
  outline(ctx, box, tops, null, y);
  ctx.clip();
  ctx.beginPath();
  ctx.rect(box.x, box.y, box.w, y(limit) - box.y);
  ctx.clip();
  ctx.strokeStyle = colours.wrong;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let x = box.x - box.h; x < box.x + box.w; x += 9) {
    ctx.moveTo(x, box.y + box.h);
    ctx.lineTo(x + box.h, box.y);
  }
  ctx.stroke();
  ctx.lineWidth = 4;
  outline(ctx, box, tops, null, y);
  ctx.stroke();
  ctx.restore();
}

// A line of steps through [event, bytes], as far as `end`, a share of the picture.
export function line(ctx, box, axis, points, y, { colour, width = 1, dash = [], end = 1 }) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.x, box.y - 2, box.w, box.h + 4);
  ctx.clip();
  ctx.beginPath();
  points.forEach(([i, nbytes], p) => {
    const x = box.x + axis.place(i) * box.w;
    if (p) ctx.lineTo(x, y(points[p - 1][1]));
    ctx.lineTo(x, y(nbytes));
  });
  if (points.length) ctx.lineTo(box.x + end * box.w, y(points.at(-1)[1]));
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  ctx.stroke();
  ctx.restore();
}

// Another trace's bytes in all, on this picture's clock, with its name: at `share` along the line, or over its end.
export function thin(ctx, box, t, axis, { colour, ground, text, share, width = 1 }, y, ratio) {
  const chosen = columns(t, alike(t, axis), Math.max(1, Math.round(box.w * ratio)));
  ctx.beginPath();
  chosen.forEach((i, x) => {
    if (i >= 0) ctx.lineTo(box.x + ((x + 0.5) * box.w) / chosen.length, y(t.total[i]));
  });
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.stroke();
  const isEnd = share === 1;
  const column = isEnd ? chosen.findLastIndex((one) => one >= 0) : Math.floor(share * chosen.length);
  const i = chosen[column];
  if (!(i >= 0)) return;
  ctx.lineWidth = 3;
  ctx.strokeStyle = ground;
  ctx.fillStyle = colour;
  ctx.textAlign = isEnd ? "right" : "center";
  ctx.textBaseline = "middle";
  const top = isEnd ? Math.max(box.y + 6, y(t.total[i]) - 12) : y(t.total[i]);
  const at = [text, box.x + (isEnd ? column / chosen.length : share) * box.w, top];
  ctx.strokeText(...at);
  ctx.fillText(...at);
}

export function grid(ctx, box, view, colours, y) {
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const { nbytes, text } of ticks(view.top, view.unit, Math.max(2, Math.round(box.h / 56)))) {
    ctx.fillStyle = colours.line;
    ctx.fillRect(box.x, Math.round(y(nbytes)), box.w, 1);
    ctx.fillStyle = colours.muted;
    ctx.fillText(text, box.x - 8, y(nbytes));
  }
  ctx.fillText(view.unit, box.x - 8, box.y - 10);
}
