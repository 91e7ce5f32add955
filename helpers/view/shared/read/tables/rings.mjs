// The best ring over some devices, as few hops as possible of the worst kind, then of the next: helpers/nccl/output/tables/rings.py.

const MOST = 10; // devices up to which every ring is looked at

// The pairs that send to each other, in order; none for one device.
export const hopsOf = ({ order }) => (order.length > 1 ? hops(order) : []);
const hops = (order) => order.map((one, at) => [one, order[(at + 1) % order.length]]);

// { order, exact }; of equals the one that comes first in the devices' order. rank: the higher, the better two devices are joined.
// exact: whether no ring is better; above ten devices only a good one is sought.
export function bestRing(devices, rank) {
  const ranks = devices.flatMap((a) => devices.filter((b) => a !== b).map((b) => rank(a, b)));
  const kinds = [...new Set(ranks)].sort((one, other) => one - other);
  if (devices.length < 3 || kinds.length === 1) return { order: [...devices], exact: true };
  const table = devices.map((a) => devices.map((b) => (a === b ? 0 : kinds.indexOf(rank(a, b)))));
  const exact = devices.length <= MOST;
  const found = exact ? everyRing(table, kinds.length) : greedy(table, kinds.length);
  return { order: found.map((at) => devices[at]), exact };
}

const more = (counts, kind) => counts.map((n, k) => (k === kind ? n + 1 : n));

// Two lists, item by item: below 0 where the first comes first.
function compared(one, other) {
  const at = one.findIndex((item, i) => item !== other[i]);
  return at < 0 ? 0 : one[at] - other[at];
}

const isBetter = (way, than) => (compared(way.counts, than.counts) || compared(way.order, than.order)) < 0;
const best = (ways) => ways.reduce((found, way) => (isBetter(way, found) ? way : found)).order;

// Held and Karp's way: the best path from device 0 through a set of others to one of them, set by set.
// A way: its hops by kind, worst first, and the devices in order.
function everyRing(table, kinds) {
  const count = table.length;
  const others = [...table.keys()].slice(1);
  const ways = new Map(); // by set and last device
  const none = Array(kinds).fill(0);
  for (const last of others) {
    ways.set((1 << last) * count + last, { counts: more(none, table[0][last]), order: [0, last] });
  }
  for (let seen = 2; seen < 1 << count; seen += 2) {
    for (const last of others) if (ways.has(seen * count + last)) further(ways, seen, last, table);
  }
  const ends = others.map((last) => ways.get(((1 << count) - 2) * count + last));
  return best(ends.map(({ counts, order }) => ({ counts: more(counts, table[order.at(-1)][0]), order })));
}

function further(ways, seen, last, table) {
  const { counts, order } = ways.get(seen * table.length + last);
  for (let next = 1; next < table.length; next++) {
    if ((seen >> next) & 1) continue;
    const way = { counts: more(counts, table[last][next]), order: [...order, next] };
    const key = (seen | (1 << next)) * table.length + next;
    if (!ways.has(key) || isBetter(way, ways.get(key))) ways.set(key, way);
  }
}

// From every device the nearest that is left; the best of these rings, turned to begin with device 0.
function greedy(table, kinds) {
  const rings = table.map((_, first) => nearest(table, first));
  const turned = rings.map((ring) => [...ring.slice(ring.indexOf(0)), ...ring.slice(0, ring.indexOf(0))]);
  return best(turned.map((order) => ({ counts: countsOf(table, order, kinds), order })));
}

function nearest(table, first) {
  const ring = [first];
  const left = [...table.keys()].filter((at) => at !== first);
  while (left.length) {
    const row = table[ring.at(-1)];
    const next = left.reduce((found, at) => (row[at] > row[found] ? at : found));
    ring.push(next);
    left.splice(left.indexOf(next), 1);
  }
  return ring;
}

const countsOf = (table, ring, kinds) =>
  hops(ring).reduce((counts, [one, other]) => more(counts, table[one][other]), Array(kinds).fill(0));
