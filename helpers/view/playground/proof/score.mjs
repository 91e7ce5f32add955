// What a schedule takes, as exact fractions of N, and how it stands to a target.
import { count, times } from "../../shared/page/numbers.mjs";

const divisor = (a, b) => (b ? divisor(b, a % b) : a);

export function fraction(top, bottom) {
  const by = divisor(top, bottom) || 1;
  return [top / by, bottom / by];
}

// [3, 2] -> "3/2 N", [1, 1] -> "N", [0, 1] -> "0"
export function shareText([top, bottom]) {
  if (!top) return "0";
  const number = bottom === 1 ? `${top} ` : `${top}/${bottom} `;
  return `${top === bottom ? "" : number}N`;
}

// Chunks that the busiest rank sends or receives in all, whichever is more, over how many chunks make N.
export function moves(s) {
  const [out, into] = [times(s.nranks, () => 0), times(s.nranks, () => 0)];
  for (const { src, dst } of s.steps.flat()) {
    out[src] += 1;
    into[dst] += 1;
  }
  return fraction(Math.max(...out, ...into), s.collective === "all_to_all" ? s.nranks : s.nchunks);
}

const compare = ([a, b], [c, d]) => a * d - c * b;
const stepsCount = (n) => count(n, "step");
export const takes = (steps, share) => `${stepsCount(steps)}, and the busiest rank moves ${shareText(share)}`;

// Of a proved schedule: { reached, text }. task: { steps, moves: [top, bottom] }
export function standing(s, task) {
  const [steps, share] = [s.steps.length, moves(s)];
  const over = [
    steps > task.steps && `${stepsCount(task.steps)} would do`,
    compare(share, task.moves) > 0 && `${shareText(task.moves)} would do`,
  ].filter(Boolean);
  if (over.length) return { reached: false, text: `Not the target yet: ${over.join(", and ")}.` };
  const under = steps < task.steps || compare(share, task.moves) < 0;
  return { reached: true, text: under ? "That is better than the target." : "That is the target." };
}
