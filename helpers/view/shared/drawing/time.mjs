// Time: a lane per rank. The model's messages are bars with a hollow alpha part and a tinted bytes part (a prediction, so outlined);
// a recorded run's are solid, with a dot. Waiting is blank, and what each rank waited so far stands beside its lane.
import { badge, canvas, hold, label, line, moved, rankClass, rect, set, svg } from "../page/dom.mjs";
import { eased, shown, uneased } from "../page/motion.mjs";
import { secondsText, times } from "../page/numbers.mjs";
import { positionAt, ticks, timeAt } from "../schedules/model.mjs";
import { sign } from "../schedules/schedule.mjs";
import { idle, percent } from "../schedules/timeline.mjs";
import { GUTTER } from "./cell.mjs";

const TOP = 16;
const AXIS = 28;
const LINE = 14; // of a label; in a lower lane it is smaller
const SIDE = 42; // the column of idle shares

export const timeHeight = (places, lane) => TOP + lane * places + AXIS;

const usualLane = (places) => (places <= 4 ? 22 : places <= 8 ? 17 : 13);

function bars({ bars: all }, solid, nranks, x, row) {
  return all.map(({ src, dst, alpha, send, recv }) => {
    const color = rankClass(src, nranks);
    const lane = (rank) => TOP + (rank + 0.12) * row;
    const [a, b, c] = [x(send[0]), x(send[0] + alpha), x(send[1])];
    const [from, into] = recv.map(x);
    return [
      !solid && rect(`bim-alpha ${color}`, a, lane(src), b - a, row * 0.58),
      rect(`${solid ? "bim-ran" : "bim-bytes"} ${color}`, b, lane(src), Math.max(solid ? 1 : 0, c - b), row * 0.58),
      solid && c - b > 7 && svg("circle", { class: `bim-dot ${color}`, cx: b + 4, cy: lane(src) + row * 0.29, r: 1.5 }),
      rect(
        `bim-recv ${color}`,
        from,
        lane(dst) + row * 0.68,
        Math.max(solid ? 1 : 0, into - from),
        Math.max(1.5, row * 0.1),
      ),
    ];
  });
}

// Which steps of a run were late: named over the lanes, and a mark where each late message came in.
const lateMarks = ({ steps, bars: all }, x, row) => [
  steps.map(
    ({ start, seconds, late }, i) =>
      late &&
      label(
        "bim-tag bim-middle",
        x(start + seconds / 2),
        11,
        x(seconds) - x(0) > 64 ? `step ${i + 1} late` : `▾${i + 1}`,
      ),
  ),
  all.map(
    ({ dst, recv, late }) =>
      late && moved(svg("path", { class: "bim-late", d: "M0 0l-5 -9h10z" }), x(recv[1]), TOP + (dst + 0.75) * row),
  ),
];

function axis(end, x, y, width) {
  const anchor = (t) => (!t ? "" : x(t) > width - 30 ? "bim-end" : "bim-middle");
  return [
    line("bim-axis", x(0), y, x(end), y),
    ticks(end, width > 560 ? 6 : 3).map((t) => [
      line("bim-axis", x(t), y, x(t), y + 4),
      label(`bim-label ${anchor(t)}`, x(t), y + 17, secondsText(t)),
    ]),
  ];
}

// The share of the time so far that each rank was idle, where its lane ends.
function idleColumn(run, { places, schedule }, width, row) {
  const kind = `bim-label bim-end ${row < LINE ? "bim-tight" : ""}`;
  const shares = times(schedule.nranks, (rank) => label(kind, width, TOP + (rank + 0.5) * row + 4, ""));
  const show = (at) => shares.forEach((one, rank) => one.replaceChildren(percent(idle(run, rank, at))));
  return { nodes: places ? [label("bim-label bim-end", width, 11, "idle"), shares] : [], show };
}

// onHold(position) while a pointer drags the cursor, onDrop(step) when it lets go. more: { run: the line to draw, the model's when
// none is given, end: seconds at the right end, where several views share a scale, row: pixels of a lane }. -> { node, show(position) }
export function timeView(view, width, onHold, onDrop, more = {}) {
  const { places, schedule } = view;
  const { run = view.line, end: last = run.seconds, row = usualLane(places) } = more;
  const bottom = TOP + row * places;
  const [end, room] = [last || 1, width - GUTTER - SIDE];
  const x = (seconds) => GUTTER + (seconds / end) * room;
  const veil = rect("bim-veil", GUTTER, TOP - 2, 0, bottom - TOP + 2);
  const cursor = svg(
    "g",
    { class: "bim-cursor" },
    line("", 0, 10, 0, bottom + 8),
    svg("path", { d: "M-6 2h12v5l-6 7l-6 -7z" }),
  );
  const badges = times(places, (rank) =>
    badge(rank, schedule.nranks, 13, TOP + row * (rank + 0.5), Math.min(row - 1, 18), sign(schedule, rank)),
  );
  const idling = idleColumn(run, view, width, row);
  const solid = run !== view.line;
  const node = canvas(
    "bim-time",
    width,
    timeHeight(places, row),
    `When each rank sends and receives${solid ? " in the recorded run" : ""}; drag to move through the steps`,
    run.steps.map(({ start }) => line("bim-grid", x(start), TOP, x(start), bottom)),
    badges,
    bars(run, solid, schedule.nranks, x, row),
    veil,
    solid && lateMarks(run, x, row),
    idling.nodes,
    axis(last, x, bottom + 4, width - SIDE),
    cursor,
  );
  hold(node, (px, ends) => {
    const position = uneased(positionAt(run, ((px - GUTTER) / room) * end));
    if (ends) onDrop(Math.round(position));
    else onHold(position);
  });
  let drawn = null;
  const show = (position) => {
    const seconds = timeAt(run, eased(position));
    const at = x(seconds);
    moved(cursor, at, 0);
    set(veil, { x: at, width: Math.max(0, GUTTER + room - at) });
    const { step } = shown(position);
    idling.show(seconds);
    if (drawn === step) return;
    drawn = step;
    const busy = new Set(
      step ? (schedule.steps[step - 1] ?? []).flatMap(({ src, dst }) => [src, dst]) : times(places, (rank) => rank),
    );
    badges.forEach((one, rank) => one.classList.toggle("bim-dim", !busy.has(rank)));
  };
  return { node, show };
}
