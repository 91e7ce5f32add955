// What a curve would look like if a setting had been taken away, and which of these is the reader's. As helpers/yours/suspects.py.
import { secondsOf } from "./beside.mjs";
import { least, median } from "./texts.mjs";

const SUSPECTS = [
  ["NVLS off", ({ algorithm }) => !algorithm.startsWith("NVLS")],
  ["LL128 off", ({ protocol }) => protocol !== "LL128"],
  ["only LL", ({ protocol }) => protocol === "LL"],
];

// What small sizes take: of the reader, and as predicted at that size. times: their ratio; extra: by how much longer.
export function launch({ points }, { lines }) {
  const shortest = least(points, ({ seconds }) => seconds);
  const known = secondsOf(lines[points.indexOf(shortest)][0]);
  const { nbytes, seconds: mine } = shortest;
  return { nbytes, mine, known, times: mine / known, extra: Math.max(0, mine - known) };
}

// Seconds at every size with what is left; null where at some size nothing is.
function left({ lines }, keeps) {
  const kept = lines.map((table) => table.find(keeps));
  return kept.length && kept.every(Boolean) ? kept.map(secondsOf) : null;
}

// The suspect that fits best, null where health fits as well.
export function fitting(curve, model, limits) {
  const rows = curve.points.map(({ nbytes, seconds }, at) => ({
    nbytes,
    mine: seconds,
    health: secondsOf(model.lines[at][0]),
  }));
  const start = launch(curve, model);
  const found = SUSPECTS.map(([name, keeps]) => fitOf(name, left(model, keeps), rows, start, limits));
  return least(found.filter(Boolean), ({ misfit }) => misfit);
}

// Whether the whole curve is that of Simple alone, whose long start looks as a slow launch does.
export function isSimpleAlone({ points }, model, { alike }) {
  const simple = left(model, ({ protocol }) => protocol === "Simple");
  return simple !== null && median(points.map(({ seconds }, at) => off(seconds, simple[at], simple[at]))) < alike;
}

// Where a suspect differs, its distance against that of health.
function fitOf(name, other, rows, start, { slower, least: fewest, better }) {
  if (other === null) return null;
  const there = rows
    .map(({ nbytes, mine, health }, at) => ({
      nbytes,
      mine,
      here: Math.max(other[at], start.mine),
      low: Math.max(health, start.mine),
      high: health + start.extra,
    }))
    .filter(({ here, low }) => here / low >= slower);
  if (there.length < fewest) return null;
  const misfit = median(there.map(({ mine, here }) => off(mine, here, here)));
  const well = median(there.map(({ mine, low, high }) => off(mine, low, high)));
  const slow = median(there.map(({ mine, low }) => mine / low));
  return slow >= slower && misfit <= better * well ? { name, misfit, sizes: there.map(({ nbytes }) => nbytes) } : null;
}

// |log| from seconds to the nearest of low ... high.
function off(seconds, low, high) {
  const near = Math.min(Math.max(seconds, low), Math.max(low, high));
  return Math.abs(Math.log(seconds / near));
}
