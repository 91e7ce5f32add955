// The lines of code that made a trace's blocks, as bands of the picture; where classes are known, the classes are.
import { CLASSES, composition } from "./store.mjs";

const HUES = 8;
export const MOST = 2 * HUES; // each hue plain, then striped
const LEAST = 0.01; // of the peak: a thinner band is not seen

// "backward train.py:40" is told by its place first.
export function placeOf(op) {
  if (!op) return "no line recorded";
  const [, name, place] = /^(.*) (\S.*:\d+)$/.exec(op) ?? [];
  return place ? `${place} (${name})` : op;
}

export const opOf = (t, slot) => t.op[t.made[slot]];

// What every line holds after each of the events, which come in order: see(event's place, line, bytes) where it grew or shrank.
function changes(t, see) {
  for (let i = 0; i < t.n; i++) {
    if (t.kind[i] === 0) see(i, t.slot[i], t.nbytes[t.slot[i]]);
    else if (t.kind[i] === 1) see(i, t.slot[i], -t.nbytes[t.slot[i]]);
  }
}

// The most that each line ever holds.
function highest(t) {
  const [now, most] = [new Map(), new Map()];
  changes(t, (_, slot, nbytes) => {
    const op = opOf(t, slot);
    now.set(op, (now.get(op) ?? 0) + nbytes);
    if (now.get(op) > (most.get(op) ?? 0)) most.set(op, now.get(op));
  });
  return most;
}

// Lines with a band of their own in all traces together, the fullest first: equal lines have equal colours in both.
function banded(traces) {
  const most = new Map();
  for (const t of traces) for (const [op, nbytes] of highest(t)) most.set(op, Math.max(most.get(op) ?? 0, nbytes));
  const peak = Math.max(...traces.map((t) => t.total[t.peak] ?? 0));
  const wide = [...most].filter(([, nbytes]) => nbytes >= LEAST * peak);
  const lines = wide.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, MOST);
  return { lines: lines.map(([op]) => op), rest: most.size - lines.length };
}

// Bytes by band after each of these events, which come in order; of -1 nothing.
function heldBy(t, slots, count, events) {
  const now = Array.from({ length: count }, () => 0);
  let done = -1;
  return Array.from(events, (i) => {
    for (; done < i; done++) {
      const [kind, slot] = [t.kind[done + 1], t.slot[done + 1]];
      if (kind < 2) now[slots[slot]] += (kind ? -1 : 1) * t.nbytes[slot];
    }
    return i < 0 ? [] : [...now];
  });
}

// traces: all that are on show. -> { count, names, op(t, slot): its band, at(t, events): bytes by band, ink(band): { hue, striped } },
// hue: of HUES, -1 for the rest
export function lineBands(traces) {
  const { lines, rest } = banded(traces);
  const number = new Map(lines.map((op, b) => [op, b]));
  const names = [...lines.map(placeOf), ...(rest ? [`other lines (${rest})`] : [])];
  const known = new Map();
  const slotsOf = (t) => {
    if (known.get(t)?.length !== t.ids.length)
      known.set(
        t,
        Uint8Array.from(t.ids, (_, slot) => number.get(opOf(t, slot)) ?? lines.length),
      );
    return known.get(t);
  };
  return {
    names,
    of: (t, slot) => slotsOf(t)[slot],
    at: (t, events) => heldBy(t, slotsOf(t), names.length, events),
    ink: (b) => (b < lines.length ? { hue: b % HUES, striped: b >= HUES } : { hue: -1, striped: false }),
  };
}

// Bytes alive after event i by line, the fullest first: [[op, bytes]].
export function byLine(t, i) {
  const held = new Map();
  changes(t, (at, slot, nbytes) => at <= i && held.set(opOf(t, slot), (held.get(opOf(t, slot)) ?? 0) + nbytes));
  return [...held].filter(([, nbytes]) => nbytes > 0).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

export const classBands = {
  names: CLASSES,
  of: (_, __, cls) => cls,
  at: (t, events) => Array.from(events, (i) => (i < 0 ? [] : composition(t, i))),
  ink: (cls) => ({ cls }),
};
