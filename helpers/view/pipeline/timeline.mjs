// When every computation begins and ends, what that leaves idle, what every rank holds: helpers.pipeline again, tested equal.
// Times are whole numbers of 48ths: they hold every quarter of a unit cut into 1 to 4 stages, so nothing is rounded.
import { times } from "../shared/page/numbers.mjs";
import { KINDS } from "./programs.mjs";

export const GRAINS = 48;

// s: a schedule of programs.mjs; t: { forward, input, weight, hop } in units
const lengths = ({ nvirtual: v }, t) => {
  const of = ({ takes }) => (takes.reduce((sum, part) => sum + t[part], 0) * GRAINS) / v;
  return Object.fromEntries(Object.entries(KINDS).map(([kind, row]) => [kind, of(row)]));
};

// What a computation needs: [what ended, of which stage].
const needs = ({ kind, stage }, last) =>
  KINDS[kind].needs.map(([one, by]) => [one, stage + by]).filter(([, at]) => at >= 0 && at <= last);

const keyOf = (kind, stage, k) => `${kind}${stage}.${k}`;

// -> [{ rank, kind, stage, k, start, end }] in the order in which they were placed; and at, how far each rank came
export function placed(s, t) {
  const [long, hop, last] = [lengths(s, t), t.hop * GRAINS, s.nranks * s.nvirtual - 1];
  const [ended, free, at, all] = [new Map(), times(s.nranks, () => 0), times(s.nranks, () => 0), []];
  const ready = (one, rank) => {
    let found = 0;
    for (const [kind, stage] of needs(one, last)) {
      const end = ended.get(keyOf(kind, stage, one.k));
      if (end === undefined) return null;
      found = Math.max(found, end + (stage % s.nranks === rank ? 0 : hop));
    }
    return found;
  };
  const place = (rank) => {
    const one = s.programs[rank][at[rank]];
    const from = one ? ready(one, rank) : null;
    if (from === null) return false;
    const start = Math.max(from, free[rank]);
    free[rank] = start + long[one.kind];
    for (const done of [one.kind, ...KINDS[one.kind].does]) ended.set(keyOf(done, one.stage, one.k), free[rank]);
    all.push({ rank, ...one, start, end: free[rank] });
    at[rank] += 1;
    return true;
  };
  for (let moved = true; moved;) {
    moved = false;
    for (let rank = 0; rank < s.nranks; rank++) while (place(rank)) moved = true;
  }
  return { all, at };
}

// After each computation: when, and how many stages' activations are kept for I or B, and how many for W.
function holding(lane) {
  let [whole, weights] = [0, 0];
  return lane.map(({ kind, end }) => {
    whole += KINDS[kind].holds[0];
    weights += KINDS[kind].holds[1];
    return { end, whole, weights };
  });
}

const total = ({ whole, weights }) => whole + weights;

// Everything that is sent to another rank: from where to where, when, and whether it is a forward's.
function messagesOf({ nranks, nvirtual }, all, hop) {
  return all.flatMap(({ rank, kind, stage, end }) => {
    const next = stage + KINDS[kind].to;
    const sent = next >= 0 && next < nranks * nvirtual && next % nranks !== rank;
    return sent ? [{ from: rank, to: next % nranks, sent: end, there: end + hop, kind }] : [];
  });
}

// The closed form's wait of a rank, in 48ths, or null; as helpers.pipeline.closed_form has it.
function waitOf({ name, own, nranks: p, nmicrobatches: m, nvirtual: v }, { forward: f, input: i, weight: w }) {
  if (own) return null;
  if (name !== "zb-h1") return ((p - 1) * (f + i + w) * GRAINS) / v;
  if (p === 1) return 0;
  const equal = f === i && i === w;
  if (!equal && !(w <= f && f <= i && m >= p)) return null;
  return (equal && m < p ? (2 * p - 1 - m) * f : (p - 1) * (f + i - w)) * GRAINS;
}

// The most stages that any rank holds at once, by the closed form.
function mostOf({ name, own, nranks: p, nmicrobatches: m, nvirtual: v }) {
  const forms = { gpipe: m, "zb-h1": Math.min(p, m), interleaved: Math.min((v - 1) * p + 2 * (p - 1) + 1, v * m) };
  return own ? null : (forms[name] ?? Math.min(p, m));
}

// A schedule under times, with all that is shown of it.
export function run(s, t) {
  const { all } = placed(s, t);
  const lanes = times(s.nranks, (rank) => all.filter((one) => one.rank === rank));
  const makespan = all.reduce((most, { end }) => Math.max(most, end), 0);
  const held = lanes.map(holding);
  return {
    ...s,
    times: t,
    all,
    lanes,
    makespan,
    held,
    capacity: s.nranks * makespan,
    useful: s.nmicrobatches * (t.forward + t.input + t.weight) * GRAINS,
    messages: messagesOf(s, all, t.hop * GRAINS),
    peaks: held.map((lane) => Math.max(0, ...lane.map(total))),
    wait: waitOf(s, t),
    most: mostOf(s),
  };
}

// How long the ranks had computed nothing by a time: one rank's, or all together.
export function idleUntil({ lanes }, at, rank = null) {
  const some = rank === null ? lanes : [lanes[rank]];
  const busy = some.flat().reduce((sum, { start, end }) => sum + Math.max(0, Math.min(at, end) - start), 0);
  return some.length * at - busy;
}

// What a rank holds at a time, in stages.
export function holds({ held }, rank, at) {
  const now = held[rank].findLast(({ end }) => end <= at);
  return now ? total(now) : 0;
}

// Where the cursor stops: the start, and whenever a computation begins or ends.
export const stopsOf = (runs) =>
  [...new Set([0, ...runs.flatMap(({ all }) => all.flatMap(({ start, end }) => [start, end]))])].toSorted(
    (a, b) => a - b,
  );

// What a rank computes at a time, or undefined.
export const now = ({ lanes }, rank, at) => lanes[rank].find(({ start, end }) => start <= at && at < end);
