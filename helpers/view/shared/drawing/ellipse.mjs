// Points on an ellipse, alike far from each other along its line.
import { times } from "../page/numbers.mjs";

const ROUND = 1.35; // radii that differ by less make a circle
const SLIM = 2.6; // and by more than this they never do
const PARTS = 360;

// The two radii for the room there is.
export function radii(wide, high) {
  const least = Math.min(wide, high);
  return [wide, high].map((one) => (one < ROUND * least ? least : Math.min(one, SLIM * least)));
}

// -> the angles of n points, from a first one on.
export function evenly(n, rx, ry, first) {
  const angle = (part) => first + (2 * Math.PI * part) / PARTS;
  const ways = [0]; // along the line, up to each part
  for (let part = 0; part < PARTS; part++) {
    const middle = angle(part + 0.5);
    ways.push(ways[part] + Math.hypot(rx * Math.sin(middle), ry * Math.cos(middle)));
  }
  return times(n, (i) => {
    const way = (i / n) * ways[PARTS];
    const part = ways.findLastIndex((one) => one <= way);
    return angle(part + (way - ways[part]) / (ways[part + 1] - ways[part]));
  });
}
