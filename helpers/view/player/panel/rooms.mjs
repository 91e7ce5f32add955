// How a stage is laid out and how high its views are, so that it fits one screen with its transport bar: where there is width a
// laptop's 660 pixels, else a telephone's 667, there with the sentence above it, less the 56 of the site's own bar. Only two schedules
// of many places need more; on a telephone memory fits, of two schedules or many places the topology comes last.
import { memoryHeight } from "../../shared/drawing/memory.mjs";
import { boxed } from "../../shared/drawing/nodes.mjs";
import { timeHeight } from "../../shared/drawing/time.mjs";

const MANY = 9; // places: more of them want another layout

// What titles, gaps and the transport bar (drawing.css, player.css) leave for memory, time and, stacked, the topology:
export const LEFT = { wide: 660 - 56 - 138, stacked: 667 - 56 - 221 };
const WHOLE = 467; // of many places: for topology and time in one column
const BESIDE = 229; // for each of two schedules' lines

// Pixels for the rows in memory, and for the lanes in a view of time: where there is width, and stacked
const ROOMS = {
  one: [240, 128, 112, 88],
  real: [112, 64, 88, 44],
  many: [477, 200, 200, 136],
  two: [191, 185, 104, 76],
  crowd: [304, 176, 104, 76],
};

const between = (least, most, value) => Math.floor(Math.max(least, Math.min(most, value)));

// What is on show: one schedule, a recorded run of it, one of many places, two, two of many places
export function kindOf([{ places, real }, other]) {
  const many = Math.max(places, other?.places ?? 0) > MANY;
  return other ? (many ? "crowd" : "two") : many ? "many" : real ? "real" : "one";
}

function topologyHeight({ schedule, link }, kind, wide, memory, time) {
  const boxes = boxed(schedule, link);
  if (kind === "real") return Math.max(wide && 150, memory);
  if (kind === "two") return wide ? BESIDE : boxes ? 220 : 148;
  if (wide)
    return kind === "many" ? between(220, 400, WHOLE - time) : between(220, kind === "crowd" ? 260 : 440, memory);
  const crowded = kind !== "one" || schedule.nswitches > 1 || (boxes && schedule.nranks > 2 * link.gpus);
  const more = globalThis.document?.fullscreenElement ? innerHeight - 611 : 0; // enlarged it has the site's bar, too
  return crowded ? 220 : between(88, 200 + more, LEFT.stacked + more - memory - time);
}

// -> pixels of a row in memory, of a lane in time, of the topology
export function rooms(view, kind, wide) {
  const { places } = view;
  const [rows, lanes] = ROOMS[kind].slice(wide ? 0 : 2);
  const row = between(13, wide ? 52 : 28, rows / places);
  const lane = between(11, !wide ? 14 : kind === "two" ? 40 : 22, lanes / places);
  return { row, lane, topology: topologyHeight(view, kind, wide, memoryHeight(places, row), timeHeight(places, lane)) };
}
