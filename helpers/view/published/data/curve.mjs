// A curve of a reader's own, in the shape of a published run but without a key: it is in no link.
import { Refused } from "../../shared/read/refused.mjs";
import { lineThrough } from "./line.mjs";

const MANY = 200; // sizes through which a line is sought: it tries every three

export const isPositive = (value) => typeof value === "number" && Number.isFinite(value) && value > 0;

// points: [{ nbytes, seconds, most, busbw }], of a size that comes twice the last. from: provenance. spread: what a bar is of.
export function curve(name, points, from, spread) {
  const sorted = [...new Map(points.map((one) => [one.nbytes, one])).values()].sort((a, b) => a.nbytes - b.nbytes);
  if (!sorted.length) throw new Refused(`${name}: no size has a time and a bandwidth`);
  const pick = (field) => sorted.map((one) => one[field]);
  const [sizes, seconds] = [pick("nbytes"), pick("seconds")];
  const most = sorted.map((one) => one.most ?? one.seconds);
  const repeats = most.map((value, i) => (value > seconds[i] ? 2 : 1));
  const line = sizes.length > MANY ? null : lineThrough(sizes, seconds);
  return { name, sizes, seconds, busbw: pick("busbw"), least: seconds, most, repeats, spread, from, line, model: null };
}
