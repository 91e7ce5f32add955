// A schedule's programs, [rank] -> [{ kind, stage, k }], from the text that Python prints; when every computation begins and ends, what
// that leaves idle, what every rank holds: helpers.pipeline again, tested equal. Times are whole numbers of 48ths: they hold every quarter
// of a unit cut into 1 to 4 stages, so nothing is rounded. What is true of a kind, `kinds`, Python tells.
import { times } from "../shared/page/numbers.mjs";

export const GRAINS = 48;
export const MOST = { nranks: 8, nmicrobatches: 32, nvirtual: 4 };

// Its computations; where messages stand Python has proved. known: what page.py says that the page KNOWS
export function parsed(text, { kinds }) {
  const [head, ...lines] = text.trim().split("\n");
  const [, name, p, m, nstages] = /^(\S+) nranks=(\d+) nmicrobatches=(\d+) nstages=(\d+)$/.exec(head.trim());
  const program = (line = "") =>
    line
      .split(/\s+/)
      .map((word) => /^(\d+)([A-Z_]+)(\d+)$/.exec(word))
      .filter((found) => found && Object.hasOwn(kinds, found[2]))
      .map(([, stage, kind, k]) => ({ kind, stage: +stage, k: +k }));
  const programs = times(+p, (rank) => program(lines[rank]));
  return { name, title: name, kinds, nranks: +p, nmicrobatches: +m, nvirtual: nstages / p, programs };
}

const orders = new Map();

// A schedule of Python's table: of the text with the most microbatches the first of them.
export function built({ schedules, kinds }, name, nranks, nmicrobatches, asked) {
  const { title, interleaves, texts, ahead } = schedules[name];
  const nvirtual = interleaves ? asked : 1;
  const text = texts[`${nranks}.${nvirtual}`];
  if (!orders.has(text)) orders.set(text, parsed(text, { kinds }));
  const whole = orders.get(text);
  const programs = whole.programs.map((program) => program.filter(({ k }) => k < nmicrobatches));
  return { ...whole, title: upper(title), of: name, ahead, nmicrobatches, programs };
}

export const upper = (words) => words[0].toUpperCase() + words.slice(1);

// A schedule as the text that reads back to it.
export const wordOf = ({ kind, stage, k = "" }) => `${stage}${kind}${k}`;
export function written({ name, nranks, nmicrobatches, nvirtual, programs }) {
  const head = `${name} nranks=${nranks} nmicrobatches=${nmicrobatches} nstages=${nranks * nvirtual}`;
  return [head, ...programs.map((program) => program.map(wordOf).join(" "))].join("\n");
}

// Stages gathered, freed and reduced, as with_shards(s, by_itself=True) has it; ahead: of the schedule's class in torch.
function sharded(program, kinds, ahead = 3) {
  const last = new Map(program.map((one, at) => [one.stage, at]));
  const found = [];
  const add = (kind, stages) => found.push(...stages.map((stage) => ({ kind, stage })));
  let gathered = [];
  program.forEach((one, at) => {
    const coming = program.slice(at).map(({ stage }) => stage);
    const wanted = [...new Set(ahead ? coming : [...gathered, one.stage])].slice(0, ahead || undefined);
    add(
      "RESHARD",
      gathered.filter((stage) => !wanted.includes(stage)).toSorted((a, b) => a - b),
    );
    add(
      "UNSHARD",
      wanted.filter((stage) => !gathered.includes(stage)),
    );
    gathered = wanted;
    found.push(one);
    if (at === last.get(one.stage)) add("REDUCE_GRAD", [one.stage]);
    if (ahead || kinds[one.kind].holds[0] < 1) return;
    add("RESHARD", [one.stage]);
    gathered = gathered.filter((stage) => stage !== one.stage);
  });
  add(
    "RESHARD",
    gathered.toSorted((a, b) => a - b),
  );
  return found;
}

const keyOf = (kind, stage, k) => `${kind}${stage}.${k}`;

// t: { forward, input, weight, hop } in units -> [{ rank, kind, stage, k, start, end }] in the order in which they were placed, what is
// no computation at one moment; and at, how far each rank came
export function placed({ kinds, nranks, nvirtual, programs }, t) {
  const [hop, last] = [t.hop * GRAINS, nranks * nvirtual - 1];
  const [ended, free, at, all] = [new Map(), times(nranks, () => 0), times(nranks, () => 0), []];
  const ready = ({ needs }, { stage, k }, rank) => {
    let found = 0;
    for (const [kind, by] of needs) {
      if (stage + by < 0 || stage + by > last) continue;
      const end = ended.get(keyOf(kind, stage + by, k));
      if (end === undefined) return null;
      found = Math.max(found, end + ((stage + by) % nranks === rank ? 0 : hop));
    }
    return found;
  };
  const place = (rank) => {
    const one = programs[rank][at[rank]];
    const { needs, takes, does } = kinds[one?.kind] ?? { needs: [], takes: [], does: [] };
    const from = one ? ready({ needs }, one, rank) : null;
    if (from === null) return false;
    const start = Math.max(from, free[rank]);
    free[rank] = start + (takes.reduce((sum, part) => sum + t[part], 0) * GRAINS) / nvirtual;
    for (const done of [one.kind, ...does]) ended.set(keyOf(done, one.stage, one.k), free[rank]);
    all.push({ rank, ...one, start, end: free[rank] });
    at[rank] += 1;
    return true;
  };
  for (let moved = true; moved;) {
    moved = false;
    for (let rank = 0; rank < nranks; rank++) while (place(rank)) moved = true;
  }
  return { all, at };
}

// After each computation: when, and how many stages' activations are kept for their backward, and how many for their weights alone.
function holding(lane, kinds) {
  let [whole, weights] = [0, 0];
  return lane.map(({ kind, end }) => {
    whole += kinds[kind].holds[0];
    weights += kinds[kind].holds[1];
    return { end, whole, weights };
  });
}

const total = ({ whole, weights }) => whole + weights;

// Everything that is sent to another rank: from where to where, when, and what makes it.
function messagesOf({ kinds, nranks, nvirtual }, all, hop) {
  return all.flatMap(({ rank, kind, stage, end }) => {
    const next = stage + (kinds[kind]?.to ?? 0);
    const sent = next >= 0 && next < nranks * nvirtual && next % nranks !== rank;
    return sent ? [{ from: rank, to: next % nranks, sent: end, there: end + hop, kind }] : [];
  });
}

// The closed form's wait of a rank, in 48ths, or null; as helpers.pipeline.closed_form has it.
function waitOf({ of, nranks: p, nmicrobatches: m, nvirtual: v }, { forward: f, input: i, weight: w }) {
  if (!of) return null;
  if (of !== "zb-h1") return ((p - 1) * (f + i + w) * GRAINS) / v;
  if (p === 1) return 0;
  const equal = f === i && i === w;
  if (!equal && !(w <= f && f <= i && m >= p)) return null;
  return (equal && m < p ? (2 * p - 1 - m) * f : (p - 1) * (f + i - w)) * GRAINS;
}

// The most stages that any rank holds at once, by the closed form.
function mostOf({ of, nranks: p, nmicrobatches: m, nvirtual: v }) {
  const forms = { gpipe: m, interleaved: Math.min((v - 1) * p + 2 * (p - 1) + 1, v * m) };
  return of ? (forms[of] ?? Math.min(p, m)) : null;
}

// A schedule under times, with all that is shown of it. events: what a rank does, in order; lanes: of it what computes
export function run(made, t, fsdp = false) {
  const programs = fsdp ? made.programs.map((one) => sharded(one, made.kinds, made.ahead)) : made.programs;
  const s = { ...made, programs };
  const { all } = placed(s, t);
  const events = times(s.nranks, (rank) => all.filter((one) => one.rank === rank));
  const lanes = events.map((own) => own.filter(({ kind }) => Object.hasOwn(s.kinds, kind)));
  const makespan = all.reduce((most, { end }) => Math.max(most, end), 0);
  const held = lanes.map((lane) => holding(lane, s.kinds));
  return {
    ...s,
    times: t,
    all,
    events,
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
