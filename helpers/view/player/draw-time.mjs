// Time: a lane per rank. A message is a bar: its alpha part hollow, its bytes part tinted (a prediction, so outlined); waiting is blank.
import { eased } from "./clock.mjs";
import { set, svg } from "./dom.mjs";
import { badge, rankClass } from "./draw-cell.mjs";
import { positionAt, ticks, timeAt } from "./model.mjs";
import { secondsText } from "./units.mjs";

const GUTTER = 34;
const TOP = 16;

function bars(view, x, row) {
  const owner = (id) => (id < view.schedule.nranks ? rankClass(id) : "bim-switch");
  const thick = row * 0.58;
  return view.cost.steps.flatMap(({ start, messages }) => messages.flatMap((m) => {
    const [from, to] = [TOP + m.src * row + row * 0.12, TOP + m.dst * row + row * 0.8];
    const [a, b, c] = [x(start + m.sendAt), x(start + m.sendAt + m.alpha), x(start + m.sendAt + m.alpha + m.transfer)];
    const got = x(start + m.recvAt);
    return [
      svg("rect", { class: `bim-alpha ${owner(m.src)}`, x: a, y: from, width: Math.max(0, b - a), height: thick }),
      svg("rect", { class: `bim-bytes ${owner(m.src)}`, x: b, y: from, width: Math.max(0.5, c - b), height: thick }),
      svg("rect", { class: `bim-recv ${owner(m.src)}`, x: got, y: to, width: Math.max(0.5, c - a), height: Math.max(1.5, row * 0.1) }),
    ];
  }));
}

function axis(end, x, y, width) {
  const marks = ticks(end, width > 560 ? 6 : 3);
  return svg("g", {}, svg("line", { class: "bim-axis", x1: x(0), x2: x(end), y1: y, y2: y }), marks.map((t) => [
    svg("line", { class: "bim-axis", x1: x(t), x2: x(t), y1: y, y2: y + 4 }),
    svg("text", { class: `bim-label ${t ? (x(t) > width - 30 ? "bim-end" : "bim-middle") : ""}`, x: x(t), y: y + 17 }, secondsText(t)),
  ]));
}

const uneased = (position) => Math.floor(position) + 1 - Math.sqrt(1 - (position - Math.floor(position)));

// onHold(position) while a pointer drags the cursor, onDrop(step) when it lets go. -> { node, show(position) }
export function timeView(view, width, onHold = () => {}, onDrop = () => {}) {
  const row = view.places <= 4 ? 22 : view.places <= 8 ? 17 : 13;
  const bottom = TOP + row * view.places;
  const height = bottom + 28;
  const end = view.cost.seconds || 1;
  const x = (seconds) => GUTTER + (seconds / end) * (width - GUTTER - 8);
  const veil = svg("rect", { class: "bim-veil", y: TOP - 2, height: bottom - TOP + 2 });
  const cursor = svg("g", { class: "bim-cursor" }, svg("line", { y1: 10, y2: bottom + 8 }), svg("path", { d: "M-6 2h12v5l-6 7l-6 -7z" }));
  const node = svg("svg", { class: "bim-time", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "When each rank sends and receives; drag to move through the steps" },
    view.cost.steps.map(({ start }) => svg("line", { class: "bim-grid", x1: x(start), x2: x(start), y1: TOP, y2: bottom })),
    Array.from({ length: view.places }, (_, rank) => badge(rank, view.schedule.nranks, 13, TOP + row * (rank + 0.5), Math.min(row - 2, 18))),
    bars(view, x, row), veil, axis(view.cost.seconds, x, bottom + 4, width), cursor);
  scrub(node, width, (px) => uneased(positionAt(view.cost, ((px - GUTTER) / (width - GUTTER - 8)) * end)), onHold, onDrop);
  const show = (position) => {
    const at = x(timeAt(view.cost, eased(position)));
    set(cursor, { transform: `translate(${at.toFixed(1)} 0)` });
    set(veil, { x: at, width: Math.max(0, width - at) });
  };
  return { node, show };
}

function scrub(node, width, positionOf, onHold, onDrop) {
  const at = (event) => {
    const box = node.getBoundingClientRect();
    return positionOf(((event.clientX - box.left) / (box.width || 1)) * width);
  };
  let held = false;
  set(node, {
    pointerdown: (event) => { held = true; node.setPointerCapture?.(event.pointerId); onHold(at(event)); },
    pointermove: (event) => { if (held) onHold(at(event)); },
    pointerup: (event) => { if (held) onDrop(Math.round(at(event))); held = false; },
    pointercancel: () => { held = false; },
  });
}
