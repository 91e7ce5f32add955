// Three lanes over one time: what a protocol's 128 bytes of the wire hold, the bar of its price, and below it what GPU B can read.
import { canvas, h, hold, label, line, moved, rect, set, svg } from "../shared/page/dom.mjs";
import { nbytesText, secondsText, ticks, times } from "../shared/page/numbers.mjs";
import { crossings, firstOf, GRAINS, pieceEnds, told } from "./lanes.mjs";

const WIRE = 128; // bytes of the wire in a strip, a pixel each
const TOP = 18;
const LANE = 92;
const AXIS = 24;
const END = 70; // the column of the ends

const shape = (width) =>
  width >= 560 ? { wide: true, left: 156, high: LANE } : { wide: false, left: 0, high: LANE + 26 };

// 128 bytes of the wire, to scale: an LL line is 4 bytes of data and 4 of flag, twice; an LL128 line ends in 8 bytes of flag.
function strip({ line: size, data }, x, y) {
  const [unit, own] = size === 16 ? [8, 4] : [size ?? WIRE, data ?? WIRE];
  return times(WIRE / unit, (i) => [
    rect("bim-rank", x + i * unit, y, own, 12),
    rect("bim-flag", x + i * unit + own, y, unit - own, 12),
  ]);
}

const share = ({ line: size, data }) => `data: ${size ? (WIRE * data) / size : WIRE} of ${WIRE} B`;

function heading(lane, y, { wide }) {
  if (!wide) {
    const [strips, words] = [strip(lane, 54, y + 3), label("bim-label", 54 + WIRE + 8, y + 13, share(lane))];
    return [label("bim-name", 0, y + 13, lane.name), strips, words];
  }
  const read = label("bim-label", 0, y + 72, "GPU B can read");
  return [
    label("bim-name", 0, y + 13, lane.name),
    strip(lane, 0, y + 24),
    label("bim-label", 0, y + 50, share(lane)),
    read,
  ];
}

const inside = (text, x, room, y) => room > 8 * text.length && label("bim-label bim-middle", x + room / 2, y, text);

function bar({ call, start, end }, x, y) {
  const [a, b, c] = [x(call), x(start), x(end)];
  return [
    rect("bim-call", x(0), y, a - x(0), 18),
    rect("bim-alpha", a, y, b - a, 18),
    rect("bim-bytes", b, y, Math.max(1.5, c - b), 18),
  ];
}

function barWords({ call, start, end }, x, y) {
  const [a, b, c] = [x(call), x(start), x(end)];
  return [inside("call", x(0), a - x(0), y), inside("latency", a, b - a, y), inside("bytes", b, c - b, y)];
}

// Lines come one after the other, a ramp; slices are stairs. More stairs than pixels are a ramp, too.
function got(lane, x, last, y, high) {
  const { line: size, pieces, start, end } = lane;
  const ends = size === null && pieces <= x(end) - x(start) ? pieceEnds(lane, pieces) : [];
  const stairs = ends.map((t, i) => `H${x(t).toFixed(1)}V${(y + high - (high * (i + 1)) / pieces).toFixed(1)}`);
  const ramp = `L${x(end).toFixed(1)} ${y}`;
  const path = `M${x(start).toFixed(1)} ${y + high}${stairs.length ? stairs.join("") : ramp}H${x(last).toFixed(1)}V${y + high}z`;
  return [svg("path", { class: "bim-rank", d: path }), line("bim-base", x(0), y + high, x(last), y + high)];
}

const topOf = (i, { high }) => TOP + (i + 1) * high - LANE;

const drawn = (lane, i, x, last, form) => [
  bar(lane, x, topOf(i, form) + 20),
  got(lane, x, last, topOf(i, form) + 42, 34),
];

// What no veil covers.
function words(lane, i, x, form, first) {
  const [y, end] = [topOf(i, form), secondsText(lane.end)];
  const last = label("bim-tag", x(lane.end) + 6, y + 34, lane === first ? `${end}, first` : end);
  if (lane === first) last.classList.add("bim-first");
  return [
    heading(lane, TOP + i * form.high, form),
    label("bim-label bim-told-by", form.left, y + 13, told(lane)),
    barWords(lane, x, y + 33),
    last,
  ];
}

const axis = (last, x, y, width) => [
  line("bim-axis", x(0), y, x(last), y),
  ticks(last, width > 560 ? 6 : 3).map((t) => [
    line("bim-axis", x(t), y, x(t), y + 4),
    label(`bim-label ${t ? "bim-middle" : ""}`, x(t), y + 17, secondsText(t)),
  ]),
];

// onHold(seconds) while a pointer has the cursor. -> { node, show(seconds) }
export function lanesPicture(lanes, width, onHold) {
  const form = shape(width);
  const last = 1.04 * Math.max(...lanes.map(({ end }) => end)); // what has come stays readable
  const room = width - form.left - END;
  const x = (seconds) => form.left + (seconds / last) * room;
  const bottom = TOP + form.high * lanes.length;
  const veil = rect("bim-veil", form.left, TOP - 4, 0, bottom - TOP);
  const cursor = svg(
    "g",
    { class: "bim-cursor" },
    line("", 0, 8, 0, bottom + 2),
    svg("path", { d: "M-6 0h12v5l-6 7l-6 -7z" }),
  );
  const node = canvas(
    "bim-time bim-r0",
    width,
    bottom + AXIS,
    "Each protocol's call, latency and bytes over time, and what GPU B can read; drag to move the clock",
    lanes.map((lane, i) => drawn(lane, i, x, last, form)),
    veil,
    axis(last, x, bottom, width),
    cursor,
    lanes.map((lane, i) => words(lane, i, x, form, firstOf(lanes))),
  );
  hold(node, (px) => onHold(Math.min(1, Math.max(0, (px - form.left) / room)) * last));
  const show = (seconds) => {
    moved(cursor, x(seconds), 0);
    set(veil, { x: x(seconds), width: Math.max(0, form.left + room + 1 - x(seconds)) });
  };
  return { node, show };
}

// Under the slider of sizes: who is first where, from one end of the slider to the other.
export function winnersStrip(lanes, width) {
  const [from, to] = GRAINS;
  const edges = [from, ...crossings(lanes).map((n) => Math.min(to, Math.max(from, Math.log2(n)))), to];
  const now = firstOf(lanes);
  return lanes.map((lane, i) => {
    const part = (edges[i + 1] - edges[i]) / (to - from);
    const text = part * width > 8 * lane.name.length + 8 ? lane.name : "";
    const node = h("span", { class: lane === now && "bim-here" }, text);
    node.style.width = `${100 * part}%`;
    return node;
  });
}

export function winnersText(lanes) {
  const [one, two] = crossings(lanes).map(nbytesText);
  const [ll, ll128, simple] = lanes.map(({ name }) => name);
  return `${ll} is first up to ${one}, ${ll128} up to ${two}, ${simple} above.`;
}
