// Plays a schedule on counts: how often each origin's contribution is inside each slot, after every step.
// masks [rank][chunk] with bit o set when origin o is inside -> one flat state, index (rank * nchunks + chunk) * nranks + origin
function initial(s, before) {
  const state = new Int32Array((s.nranks + s.nswitches) * s.nchunks * s.nranks);
  before.forEach((row, rank) =>
    row.forEach((mask, chunk) => {
      for (let o = 0; o < s.nranks; o++) state[(rank * s.nchunks + chunk) * s.nranks + o] = (mask >> o) & 1;
    }),
  );
  return state;
}

// Every transfer reads what the step before left; only a switch may be added into twice in a step.
function played(s, old, step) {
  const state = old.slice();
  for (const { src, dst, chunk, adds } of step) {
    const from = (src * s.nchunks + chunk) * s.nranks;
    const to = (dst * s.nchunks + chunk) * s.nranks;
    for (let o = 0; o < s.nranks; o++) state[to + o] = old[from + o] + (adds ? state[to + o] : 0);
  }
  return state;
}

// -> { states: one per step and the start, counts(step, rank, chunk) }
export function replay(s, before) {
  const states = [initial(s, before)];
  for (const step of s.steps) states.push(played(s, states[states.length - 1], step));
  const counts = (step, rank, chunk) => {
    const at = (rank * s.nchunks + chunk) * s.nranks;
    return states[step].subarray(at, at + s.nranks);
  };
  return { states, counts };
}

// Small inputs for numbers mode: what rank o puts into a chunk. Collectives are linear, so values follow from counts.
export const input = (origin, chunk) => ((3 * origin + 5 * chunk + 2) % 9) + 1;

export function value(counts, chunk) {
  return counts.some((n) => n > 0) ? counts.reduce((sum, n, o) => sum + n * input(o, chunk), 0) : null;
}

// What the last state owes: [{ rank, chunk, lacks: [origins], extra: [origins] }], empty when the promise is kept.
export function faults(s, run, after) {
  const last = s.steps.length;
  const found = [];
  after.forEach((row, rank) =>
    row.forEach((mask, chunk) => {
      if (mask < 0) return;
      const counts = [...run.counts(last, rank, chunk)];
      const lacks = counts.flatMap((n, o) => ((mask >> o) & 1 && n < 1 ? [o] : []));
      const extra = counts.flatMap((n, o) => (n > ((mask >> o) & 1) ? [o] : []));
      if (lacks.length || extra.length) found.push({ rank, chunk, lacks, extra });
    }),
  );
  return found;
}
