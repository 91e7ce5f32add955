// The limit, and where memory runs out.
import { withUnit } from "../trace/amounts.mjs";
import { line } from "./chart.mjs";

const HIGH = 14; // px of a line of words

function words(ctx, text, x, y, { colour, ground }) {
  ctx.textBaseline = "middle";
  ctx.lineWidth = 3;
  ctx.strokeStyle = ground;
  ctx.fillStyle = colour;
  ctx.strokeText(text, x, y);
  ctx.fillText(text, x, y);
}

// The first event after which more is alive than the limit, -1 where there is none.
export const firstOver = (t, limit) => (limit > 0 ? t.total.findIndex((nbytes) => nbytes > limit) : -1);

// The limit's dashed line with its words; too far above, only the words.
export function limitLine(ctx, box, view, colours, y) {
  if (!view.limit) return;
  const text = `limit ${withUnit(view.limit, view.unit)}`;
  ctx.textAlign = "right";
  const [said, at] = view.drawn ? [text, y(view.limit) - 8] : [`${text}, above this picture`, box.y + 8];
  words(ctx, said, box.x + box.w - 4, at, { colour: colours.ink, ground: colours.panel });
  if (!view.drawn) return;
  line(ctx, box, view.axis, [[view.axis.from, view.limit]], y, { colour: colours.ink, dash: [6, 4] });
  outOfMemory(ctx, box, view, colours, y, box.x + box.w - 10 - ctx.measureText(text).width);
}

// Where the curve first crosses the limit: a mark on the line and its words, before it where there is room, clear of the limit's own.
function outOfMemory(ctx, box, view, colours, y, free) {
  const share = view.over < 0 ? -1 : view.axis.place(view.over);
  if (share < 0 || share > 1) return;
  const x = box.x + share * box.w;
  ctx.fillStyle = colours.wrong;
  ctx.beginPath();
  ctx.arc(x, y(view.limit), 4, 0, 7);
  ctx.fill();
  ctx.font = `600 11px ${colours.font}`;
  const wide = ctx.measureText("out of memory").width + 8;
  const isBefore = x - wide > box.x;
  const isClear = (isBefore ? x : x + wide) < free;
  ctx.textAlign = isBefore ? "right" : "left";
  const at = y(view.limit) + (isBefore ? (isClear ? -8 : -8 - HIGH) : HIGH);
  words(ctx, "out of memory", x + (isBefore ? -8 : 8), at, { colour: colours.wrong, ground: colours.panel });
  ctx.font = `11px ${colours.font}`;
}
