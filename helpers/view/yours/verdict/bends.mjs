// Where a curve bends, and which switch of algorithm or protocol that is. As helpers/yours/bends.py.
import { least } from "./texts.mjs";

const pairs = (list) => list.slice(1).map((late, at) => [list[at], late]);

// The sizes at which the time jumps, whatever the factor between two sizes.
export function bends(points, predicted, { jump, after }) {
  const grown = pairs(points).map(([early, late]) => [
    late.nbytes,
    Math.log(late.seconds / early.seconds) / Math.log(late.nbytes / early.nbytes),
  ]);
  const jumps = pairs(grown).filter(([[, power], [, next]]) => power >= Math.log2(jump) && next < Math.log2(after));
  return jumps.map(([[nbytes]]) => ({ nbytes, why: whyOf(nbytes, predicted) }));
}

// [size, "Ring/LL to NVLS/Simple"]: where the model changes its choice.
export function switches(predicted) {
  const named = predicted.map(({ nbytes, algorithm, protocol }) => [nbytes, `${algorithm}/${protocol}`]);
  return pairs(named)
    .filter(([[, before], [, now]]) => before !== now)
    .map(([[, before], [size, now]]) => [size, `${before} to ${now}`]);
}

// A switch at this size or one size beside it: the model may be early or late by as much.
function whyOf(size, predicted) {
  if (!predicted.length) return "not explained: nothing is predicted for this machine";
  const sizes = predicted.map(({ nbytes }) => nbytes);
  const at = sizes.indexOf(size);
  const far = (other) => Math.abs(sizes.indexOf(other) - at);
  const near = switches(predicted).filter(([other]) => far(other) <= 1);
  const sorted = near.toSorted(([, one], [, other]) => (one < other ? -1 : Number(one > other)));
  const found = least(sorted, ([other]) => far(other));
  return found ? `predict switches from ${found[1]} there` : "not explained: predict makes no switch there";
}
