// Time: a lane per rank. A message is a bar: its alpha part hollow, its bytes part tinted (a prediction, so outlined); waiting is blank.
import { eased, uneased } from "./clock.mjs";
import { set, svg } from "./dom.mjs";
import { badge, rankClass } from "./badge.mjs";
import { GUTTER } from "./draw-cell.mjs";
import { positionAt, ticks, timeAt } from "./model.mjs";
import { canvas, label, line, moved, rect } from "./shapes.mjs";
import { times } from "./text.mjs";
import { secondsText } from "./units.mjs";

const TOP = 16;

function lanes({ cost, schedule }, x, row) {
  return cost.steps.map(({ start, messages }) => messages.map((m) => {
    const color = rankClass(m.src, schedule.nranks);
    const lane = (rank) => TOP + (rank + 0.12) * row;
    const [a, b, c] = [0, m.alpha, m.alpha + m.transfer].map((after) => x(start + m.sendAt + after));
    return [
      rect(`bim-alpha ${color}`, a, lane(m.src), b - a, row * 0.58),
      rect(`bim-bytes ${color}`, b, lane(m.src), c - b, row * 0.58),
      rect(`bim-recv ${color}`, x(start + m.recvAt), lane(m.dst) + row * 0.68, c - a, Math.max(1.5, row * 0.1)),
    ];
  }));
}

function axis(end, x, y, width) {
  const anchor = (t) => (!t ? "" : x(t) > width - 30 ? "bim-end" : "bim-middle");
  return [line("bim-axis", x(0), y, x(end), y), ticks(end, width > 560 ? 6 : 3).map((t) =>
    [line("bim-axis", x(t), y, x(t), y + 4), label(`bim-label ${anchor(t)}`, x(t), y + 17, secondsText(t))])];
}

// onHold(position) while a pointer drags the cursor, onDrop(step) when it lets go. -> { node, show(position) }
export function timeView(view, width, onHold, onDrop) {
  const { cost, places, schedule } = view;
  const row = places <= 4 ? 22 : places <= 8 ? 17 : 13;
  const bottom = TOP + row * places;
  const [end, room] = [cost.seconds || 1, width - GUTTER - 8];
  const x = (seconds) => GUTTER + (seconds / end) * room;
  const veil = rect("bim-veil", 0, TOP - 2, 0, bottom - TOP + 2);
  const cursor = svg("g", { class: "bim-cursor" }, line("", 0, 10, 0, bottom + 8), svg("path", { d: "M-6 2h12v5l-6 7l-6 -7z" }));
  const node = canvas("bim-time", width, bottom + 28, "When each rank sends and receives; drag to move through the steps",
    cost.steps.map(({ start }) => line("bim-grid", x(start), TOP, x(start), bottom)),
    times(places, (rank) => badge(rank, schedule.nranks, 13, TOP + row * (rank + 0.5), Math.min(row - 2, 18))),
    lanes(view, x, row), veil, axis(cost.seconds, x, bottom + 4, width), cursor);
  scrub(node, (px) => uneased(positionAt(cost, ((px - GUTTER) / room) * end)), onHold, onDrop);
  const show = (position) => {
    const at = x(timeAt(cost, eased(position)));
    moved(cursor, at, 0);
    set(veil, { x: at, width: Math.max(0, width - at) });
  };
  return { node, show };
}

function scrub(node, whereIs, onHold, onDrop) {
  let held = false;
  const drag = (event) => {
    if (event.type === "pointerdown" && !event.button) node.setPointerCapture(event.pointerId), held = true;
    const at = whereIs(event.clientX - node.getBoundingClientRect().left);
    const ends = event.type !== "pointerdown" && event.type !== "pointermove";
    if (held) ends ? onDrop(Math.round(at)) : onHold(at);
    held &&= !ends;
  };
  set(node, { pointerdown: drag, pointermove: drag, pointerup: drag, pointercancel: drag });
}
