// Two lanes of a rank, as helpers/overlap: buckets that leave while backward goes on, units that are gathered ahead. Tested equal.
// An Overlap here is { computed, computing: [[start, end]], calls: [{ collective, place, nbytes }], spans, gathered }.
import { times } from "../shared/page/numbers.mjs";

export const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
export const secondsIn = ({ computing, spans }) => Math.max(0, ...[...computing, ...spans].map(([, end]) => end));
export const communication = ({ spans }) => sum(spans.map(([start, end]) => end - start));
export const exposed = (o) => Math.max(0, secondsIn(o) - o.computed);
export const hidden = (o) => Math.max(0, communication(o) - exposed(o));

// layers: [seconds, bytes of gradients] in the order of backward; before: seconds of forward. -> [{ ready, nbytes }]
export function fill(layers, bucketBytes, before = 0) {
  const buckets = [];
  let [ready, open] = [before, false];
  for (const [seconds, nbytes] of layers) {
    ready += seconds;
    if (!nbytes) continue;
    if (!open) buckets.push({ ready, nbytes: 0 });
    const bucket = buckets.at(-1);
    bucket.ready = ready;
    bucket.nbytes += nbytes;
    open = bucket.nbytes < bucketBytes;
  }
  return buckets;
}

// First ready, first served, one at a time.
export function overlap(computed, buckets, secondsOf) {
  let free = 0;
  const spans = buckets.map(({ ready, nbytes }) => {
    const start = Math.max(free, ready);
    free = start + secondsOf(nbytes);
    return [start, free];
  });
  const calls = buckets.map(({ nbytes }, place) => ({ collective: "all_reduce", place, nbytes }));
  return { computed, computing: [[0, computed]], calls, spans, gathered: 0 };
}

const key = (what, number) => `${what} ${number}`;

// What can begin first begins first: a lane that computes, and a queue to the link.
function run(queues) {
  const [spans, at, free] = [new Map(), queues.map(() => 0), queues.map(() => 0)];
  for (;;) {
    let next = null;
    queues.forEach((queue, lane) => {
      const op = queue[at[lane]];
      if (!op || !op.after.every((one) => spans.has(one))) return;
      const start = Math.max(free[lane], 0, ...op.after.map((one) => spans.get(one)[1]));
      if (!next || start < next.start) next = { start, lane, op };
    });
    if (!next) return spans;
    const { start, lane, op } = next;
    free[lane] = start + op.seconds;
    spans.set(key(op.what, op.number), [start, free[lane]]);
    at[lane] += 1;
  }
}

const unitOf = (use, n) => (use < n ? use : 2 * n - 1 - use);

function gatherOf(units, use, ahead, secondsOf) {
  const n = units.length;
  const behind = Math.max(use - 1 - ahead, use < n ? -1 : n - 2);
  const after = behind < 0 ? [] : [key("compute", behind)];
  return { what: "all_gather", number: use, seconds: secondsOf(units[unitOf(use, n)].nbytes), after };
}

// One reduce_scatter at most is unfinished while another unit computes, as FSDP2 has it by itself.
function computeOf(units, use) {
  const n = units.length;
  const unit = units[unitOf(use, n)];
  const after = [key("all_gather", use), ...(use - 2 >= n ? [key("reduce_scatter", use - 2)] : [])];
  return { what: "compute", number: use, seconds: use < n ? unit.forward : unit.backward, after };
}

// In the order in which the host calls them.
function opsOf(units, ahead, secondsOf) {
  const [n, ops] = [units.length, []];
  let asked = 0;
  for (let use = 0; use < 2 * n; use++) {
    const until = Math.min(use + ahead, use < n ? n - 1 : 2 * n - 1);
    for (; asked <= until; asked++) ops.push(gatherOf(units, asked, ahead, secondsOf));
    ops.push(computeOf(units, use));
    const seconds = secondsOf(units[unitOf(use, n)].nbytes);
    if (use >= n) ops.push({ what: "reduce_scatter", number: use, seconds, after: [key("compute", use)] });
  }
  return ops;
}

// The most bytes at once, of [start, end, bytes]; and how it goes up and down: [[time, bytes]].
export function levels(held) {
  const changes = held
    .flatMap(([start, end, nbytes]) => [
      [start, 1, nbytes],
      [end, 0, -nbytes],
    ])
    .toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
  let now = 0;
  return changes.map(([at, , change]) => [at, (now += change)]);
}

// units: [{ forward, backward, nbytes }] in the order of forward; ahead: how many computations early a gather may begin.
export function gathered(units, ahead, secondsOf) {
  const n = units.length;
  const ops = opsOf(units, ahead, secondsOf);
  const spans = run([ops.filter(({ what }) => what === "compute"), ops.filter(({ what }) => what !== "compute")]);
  const at = ({ what, number }) => spans.get(key(what, number));
  const links = ops.filter(({ what }) => what !== "compute").toSorted((a, b) => at(a)[0] - at(b)[0]);
  const call = ({ what, number }) => ({
    collective: what,
    place: unitOf(number, n),
    nbytes: units[unitOf(number, n)].nbytes,
  });
  const held = links
    .filter(({ what }) => what === "all_gather")
    .map((op) => [at(op)[0], spans.get(key("compute", op.number))[1], units[unitOf(op.number, n)].nbytes]);
  const hill = levels(held);
  return {
    computed: sum(units.map(({ forward, backward }) => forward + backward)),
    computing: times(2 * n, (use) => spans.get(key("compute", use))),
    calls: links.map(call),
    spans: links.map(at),
    gathered: Math.max(0, ...hill.map(([, nbytes]) => nbytes)),
    hill,
  };
}
