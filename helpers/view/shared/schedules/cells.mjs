// How memory is laid out: one column per chunk, one slot in it per origin that can be inside. all_to_all has nranks² chunks that
// stay whole, so there a column is a sender and its slots are the chunks for each receiver.
import { times } from "../page/numbers.mjs";

// -> [{ label, slots: [{ chunk, origin, mark }] }]; mark: what a slot says in words
export function columns(s, after, run) {
  if (s.collective === "all_to_all") return senders(s);
  return times(s.nchunks, (chunk) => {
    const union = after.reduce((all, row) => (row[chunk] > 0 ? all | row[chunk] : all), everInside(s, run, chunk));
    const origins = ranks(s).filter((o) => (union >> o) & 1);
    return { label: `${chunk}`, slots: origins.map((origin) => ({ chunk, origin, mark: origin })) };
  });
}

// A mask of the origins that are inside a chunk on any rank at any time, a broken schedule's strays included.
function everInside(s, run, chunk) {
  let mask = 0;
  run.states.forEach((_, step) => {
    for (const rank of ranks(s))
      run.counts(step, rank, chunk).forEach((n, o) => {
        if (n > 0) mask |= 1 << o;
      });
  });
  return mask;
}

const ranks = (s) => times(s.nranks, (r) => r);

function senders(s) {
  const slots = (src) => ranks(s).map((dst) => ({ chunk: src * s.nranks + dst, origin: src, mark: dst }));
  return ranks(s).map((src) => ({ label: `${src}`, slots: slots(src) }));
}

// What a slot holds, and what it should hold once all is done: "empty", "full", "double", "missing".
export function slotState(count, owed, done) {
  if (count > 1) return "double";
  if (done && owed === 1 && count < 1) return "missing";
  if (done && owed === 0 && count > 0) return "double";
  return count > 0 ? "full" : "empty";
}

// The promise for one slot: 1 owed, 0 must not be there, -1 does not matter.
export function owed(after, rank, slot) {
  const mask = after[rank]?.[slot.chunk] ?? -1;
  return mask < 0 ? -1 : (mask >> slot.origin) & 1;
}

// 0+1+3, in words for tables: who is inside a column of a rank.
export function inside(run, step, rank, column) {
  const parts = column.slots.flatMap(({ chunk, origin, mark }) => {
    const n = run.counts(step, rank, chunk)[origin];
    return n > 1 ? [`${mark} (${n} times)`] : n ? [`${mark}`] : [];
  });
  return parts.join("+");
}
