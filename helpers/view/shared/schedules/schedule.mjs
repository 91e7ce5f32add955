// A schedule. Its text is the wire format: a header, then one line a step, "chunk:src⇒dst" adds, "chunk:src→dst" overwrites.

const HEADER = /^(\S+) (\S+) nranks=(\d+) nchunks=(\d+) root=(\d+|-)(?: nswitches=(\d+))?$/;
const TRANSFER = /^(\d+):(\d+)([→⇒])(\d+)$/;

function transfer(text) {
  const found = TRANSFER.exec(text);
  if (!found) throw new Error(`a transfer is written "chunk:src⇒dst" or "chunk:src→dst", got "${text}"`);
  return { chunk: +found[1], src: +found[2], dst: +found[4], adds: found[3] === "⇒" };
}

/** A name, as NAME of helpers.collectives.transfers has it: it stands in texts, links and copied cells. */
export const isName = (word) => /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$/.test(word);
export const misnamed = (what, shown) =>
  `${what} must be one word of at most 64 letters, digits and "_.+-", like "two-rings", got ${shown}`;

function name(what, word) {
  if (word === "-") return null;
  if (!isName(word)) throw new Error(misnamed(what, JSON.stringify(word)));
  return word;
}

// -> { collective, algorithm, nranks, nchunks, root, nswitches, steps: [[{ chunk, src, dst, adds }]] }
export function parse(text) {
  const [header, ...lines] = text
    .trim()
    .split("\n")
    .map((line) => line.trim());
  const found = HEADER.exec(header);
  if (!found)
    throw new Error(`the first line reads "all_reduce ring nranks=3 nchunks=3 root=-" or the like, got "${header}"`);
  return {
    collective: name("collective", found[1]),
    algorithm: name("algorithm", found[2]),
    nranks: +found[3],
    nchunks: +found[4],
    root: found[5] === "-" ? null : +found[5],
    nswitches: +(found[6] ?? 0),
    steps: lines.filter(Boolean).map((line) => line.split(/\s+/).map(transfer)),
  };
}

// Beyond the ranks stand switches; where there is one such place for every rank, these are registers (one-shot, two-shot).
export const registers = (s) => s.nswitches === s.nranks && s.nranks > 1;

// A place's sign in a picture: a rank's number; S for a switch, numbered where there are several; R for a rank's registers.
export function sign(s, id) {
  if (id < s.nranks) return `${id}`;
  return registers(s) ? `R${id - s.nranks}` : s.nswitches === 1 ? "S" : `S${id - s.nranks}`;
}

export function place(s, id) {
  if (id < s.nranks) return `rank ${id}`;
  if (registers(s)) return `the registers of rank ${id - s.nranks}`;
  return s.nswitches === 1 ? "the switch" : `switch ${id - s.nranks}`;
}

// Played on counts: how often each origin's contribution is inside each slot, after every step.
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
