// How high the views are. One schedule on up to eight places fits one screen with its transport bar: where the views stand side by
// side a laptop's 660 pixels, where they are stacked a telephone's 667, less the 56 of the site's own bar.
import { memoryHeight } from "../../shared/drawing/memory.mjs";
import { boxed } from "../../shared/drawing/nodes.mjs";
import { timeHeight } from "../../shared/drawing/time.mjs";

// What titles, gaps and the transport bar (drawing.css, player.css) leave of them:
export const LEFT = { wide: 660 - 56 - 138, stacked: 667 - 56 - 150 };

const between = (least, most, value) => Math.floor(Math.max(least, Math.min(most, value)));

// Up to so many places: a row in memory and a lane in time, of one schedule and of each of two.
const SIZES = [
  [4, 52, 22, 38, 18],
  [6, 40, 18, 30, 16],
  [8, 30, 16, 24, 14],
  [Infinity, 24, 13, 22, 13],
];

function stacked({ places, schedule, link }) {
  const [row, lane] = [between(15, 34, 136 / places), between(13, 18, 104 / places)];
  const left = LEFT.stacked - memoryHeight(places, row) - timeHeight(places, lane);
  const crowded = places > 9 || schedule.nswitches > 1 || (boxed(schedule, link) && schedule.nranks > 2 * link.gpus);
  return { row, lane, topology: between(crowded ? 220 : 136, 200, left) };
}

// two: is another schedule below this one? -> pixels of a row in memory, of a lane in time, of the topology
export function rooms(view, { wide, two }) {
  if (!wide) return stacked(view);
  const sizes = SIZES.find(([most]) => view.places <= most);
  const [row, lane] = sizes.slice(two ? 3 : 1);
  return { row, lane, topology: between(220, 440, memoryHeight(view.places, row)) };
}
