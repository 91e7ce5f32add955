// Sets of times in whole nanoseconds, [from, behind], BigInts. See helpers/nccl/output/traces/kineto_intervals.py.

const bySpan = (one, other) => compare(one[0], other[0]) || compare(one[1], other[1]);

export const compare = (one, other) => (one < other ? -1 : Number(one > other));

/** Ascending, apart from each other; empty ones are left out. */
export function union(spans) {
  const found = [];
  for (const [start, end] of spans.filter(([from, behind]) => from < behind).sort(bySpan)) {
    const last = found.at(-1);
    if (last && start <= last[1]) last[1] = end > last[1] ? end : last[1];
    else found.push([start, end]);
  }
  return found;
}

/** What of `spans` is in none of `others`; both as `union` gives them. */
export function minus(spans, others) {
  const found = [];
  let at = 0;
  for (const [first, end] of spans) {
    while (at < others.length && others[at][1] <= first) at += 1;
    let start = first;
    for (let k = at; k < others.length && others[k][0] < end; k += 1) {
      if (start < others[k][0]) found.push([start, others[k][0]]);
      if (others[k][1] > start) start = others[k][1];
    }
    if (start < end) found.push([start, end]);
  }
  return found;
}

/** What is in `spans` and in `others`. */
export const both = (spans, others) => minus(spans, minus(spans, others));

/** What of `spans` lies in the window. */
export function within(spans, [first, last]) {
  return union(spans.map(([start, end]) => [start > first ? start : first, end < last ? end : last]));
}

/** Nanoseconds in all. */
export const total = (spans) => spans.reduce((sum, [start, end]) => sum + end - start, 0n);
