// Two lanes over one time: what computes, and what keeps the link; where nothing computes it is hatched. Below them, what is gathered.
import { canvas, label, line, rect, svg } from "../../shared/page/dom.mjs";
import { nbytesText, secondsText, ticks } from "../../shared/page/numbers.mjs";
import { secondsIn } from "../lanes.mjs";
import { exposedText } from "../words.mjs";

const [TOP, HIGH, GAP, HILL, AXIS] = [22, 34, 26, 44, 24];
const BARS = 40;
const LETTER = 7;
const KINDS = { all_reduce: "bim-s2", reduce_scatter: "bim-s2", all_gather: "bim-s3" };
const MANY = 64; // calls whose way from their gradients is drawn
const THIN = 2.5; // pixels: below that, boxes have no border

// Of a step in buckets, backward is drawn: forward has nothing to hide.
const firstOf = ({ forward = 0 }) => forward;

function scale(o, width) {
  const wide = width >= 560;
  const [left, right] = [wide ? 78 : 8, wide ? 10 : 8];
  const [from, to] = [firstOf(o), secondsIn(o)];
  const x = (seconds) => left + ((seconds - from) / (to - from)) * (width - left - right);
  return { wide, left, right, width, from, to, x };
}

const inside = (words, a, b, y, kind = "") =>
  b - a > LETTER * Math.max(2, `${words}`.length) + 4 &&
  label(`bim-in bim-middle ${kind}`, (a + b) / 2, y + HIGH / 2 + 4, words);

function box([start, end], words, kind, y, to) {
  const [a, b] = [to.x(start), to.x(end)];
  const thin = b - a < THIN;
  return [
    rect(
      `bim-block ${kind} ${thin ? "bim-thin" : ""}`,
      a,
      y,
      Math.max(0.6, b - a - (thin ? 0 : 0.75)),
      HIGH,
      thin ? 0 : 2,
    ),
    inside(words, a, b, y, kind),
  ];
}

// When each unit computes: in backward alone, from the head to the tables, where gradients travel in buckets.
function computing(o, units) {
  const n = units.length;
  if (!o.buckets)
    return o.computing.map((span, use) => ({ span, place: use < n ? use : 2 * n - 1 - use, back: use >= n }));
  let at = o.forward;
  return units.toReversed().map(({ backward }, i) => {
    const span = [at, at + backward];
    at += backward;
    return { span, place: n - 1 - i, back: true };
  });
}

const nameOf = (place, n) => (place === n - 1 ? "head" : place ? `${place - 1}` : "");

export function gapsOf(spans, from, to) {
  const found = [];
  let at = from;
  for (const [start, end] of spans.toSorted((a, b) => a[0] - b[0])) {
    if (start > at + 1e-12) found.push([at, start]);
    at = Math.max(at, end);
  }
  if (to > at + 1e-12) found.push([at, to]);
  return found;
}

// The one look of what shows: hatched, in a frame.
export const shows = ([start, end], y, to, high) => [
  rect("bim-exposed", to.x(start), y, Math.max(1.5, to.x(end) - to.x(start)), high),
  rect("bim-hatch", to.x(start), y, Math.max(1.5, to.x(end) - to.x(start)), high),
];

export const hatch = () =>
  svg(
    "defs",
    {},
    svg(
      "pattern",
      { id: "bim-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      rect("bim-hatched", 0, 0, 2.5, 6),
    ),
  );

// From the moment when a bucket's gradients stand to the moment when it leaves.
const leaves = (o, y, to) =>
  o.buckets &&
  o.buckets.length <= MANY &&
  o.buckets.map(({ ready }, i) => line("bim-leaves", to.x(ready), y, to.x(o.spans[i][0]), y + GAP));

function hill(o, y, to) {
  const unit = HILL / o.gathered;
  const steps = o.hill
    .map(([at, nbytes]) => `H${to.x(at).toFixed(1)}V${(y + HILL - nbytes * unit).toFixed(1)}`)
    .join("");
  return [
    svg("path", { class: "bim-held", d: `M${to.x(to.from).toFixed(1)} ${y + HILL}${steps}z` }),
    line("bim-base", to.x(to.from), y + HILL, to.x(to.to), y + HILL),
    label("bim-label", to.wide ? 0 : to.left, y - 5, `gathered, at most ${nbytesText(o.gathered)}`),
  ];
}

const ROOM = 22; // pixels on either side of a tick's name

export const axis = (to, y) => [
  line("bim-axis", to.x(to.from), y, to.x(to.to), y),
  ticks(to.to - to.from, to.wide ? 6 : 3).map((t) => [
    line("bim-axis", to.x(to.from + t), y, to.x(to.from + t), y + 4),
    label(`bim-label ${anchor(to, t)}`, to.x(to.from + t), y + 17, secondsText(t)),
  ]),
];

// The first name begins at its tick, and the last ends there where the picture does.
function anchor(to, t) {
  if (!t) return "";
  return to.x(to.from + t) + ROOM > to.width ? "bim-end" : "bim-middle";
}

const laneName = (words, y, to) =>
  to.wide ? label("bim-label", 0, y + HIGH / 2 + 4, words) : label("bim-label", to.left, y - 5, words);

export function picture(o, units, width) {
  const to = scale(o, width);
  const [first, second] = [TOP, TOP + HIGH + GAP];
  const third = second + HIGH + GAP;
  const bottom = o.gathered ? third + HILL : second + HIGH;
  const each = computing(o, units);
  const gaps = gapsOf(
    each.map(({ span }) => span),
    to.from,
    to.to,
  );
  const words = "What computes and what keeps the link, over time; hatched is where nothing computes";
  return canvas(
    "bim-lanes",
    width,
    bottom + 4 + AXIS,
    words,
    hatch(),
    rect("bim-lane", to.x(to.from), second, to.x(to.to) - to.x(to.from), HIGH),
    each.map(({ span, place, back }) => box(span, nameOf(place, units.length), back ? "bim-s1" : "bim-s0", first, to)),
    gaps.map((gap) => shows(gap, first, to, HIGH)),
    leaves(o, first + HIGH, to),
    o.spans.map((span, i) =>
      box(span, o.buckets ? i : nameOf(o.calls[i].place, units.length), KINDS[o.calls[i].collective], second, to),
    ),
    o.gathered > 0 && hill(o, third, to),
    laneName(o.buckets ? "backward" : "computes", first, to),
    laneName("link", second, to),
    label("bim-tag bim-end", width - to.right, 12, `exposed: ${exposedText(o)}`),
    axis(to, bottom + 4),
  );
}

// Under the slider: what is exposed with each of its places; the least is framed.
export function strip(seconds, now, least, width) {
  const most = Math.max(...seconds, 1e-12);
  const step = width / Math.max(1, seconds.length - 1);
  const bar = Math.max(4, Math.min(22, step * 0.62));
  const bars = seconds.map((time, i) => {
    const tall = Math.max(1.5, (time / most) * (BARS - 2));
    const kind = i === now ? "bim-here" : i === least ? "bim-best" : "";
    return rect(`bim-bar ${kind}`, 8 + i * step - bar / 2, BARS - tall, bar, tall, 1);
  });
  return canvas("bim-sizes", width + 16, BARS, "What is exposed at each place of the slider; drag to choose", bars);
}
