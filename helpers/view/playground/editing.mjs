// Edits of a schedule, each giving a new one; and a history of them. Steps are counted from 0 here.
import { chunkCounts, isRooted } from "./proof/pledge.mjs";

export const MINE = "mine";
const changed = (s, steps) => ({ ...s, algorithm: MINE, steps: steps.filter((step) => step.length) });
const same = (a, b) => a.src === b.src && a.dst === b.dst && a.chunk === b.chunk;

// fresh: the transfer opens a new step there.
export function added(s, at, move, fresh) {
  const steps = s.steps.map((step) => [...step]);
  if (fresh || at >= steps.length) steps.splice(at, 0, [move]);
  else steps[at].push(move);
  return changed(s, steps);
}

export const removed = (s, at, move) =>
  changed(
    s,
    s.steps.map((step, i) => (i === at ? step.filter((t) => !same(t, move)) : step)),
  );

export const doubled = (s, at) =>
  changed(
    s,
    s.steps.flatMap((step, i) => (i === at ? [step, step] : [step])),
  );

export const dropped = (s, at) =>
  changed(
    s,
    s.steps.filter((_, i) => i !== at),
  );

export const emptied = (s) => changed(s, []);

// Another collective, size or root: what of the steps still fits is kept.
export function reshaped(s, change) {
  const next = { ...s, algorithm: MINE, ...change };
  const counts = chunkCounts(next);
  const kept = change.nchunks ?? (next.collective === s.collective && next.nranks === s.nranks ? s.nchunks : null);
  next.nchunks = kept ?? counts[0];
  next.root = isRooted(next.collective) ? Math.min(next.root ?? 0, next.nranks - 1) : null;
  return changed(
    next,
    s.steps.map((step) => step.filter((t) => Math.max(t.src, t.dst) < next.nranks && t.chunk < next.nchunks)),
  );
}

const MOST = 200;

// A line of values with a place in it. A change that continues the one before (typing) takes its place.
export function keeper(first) {
  let [line, place, open] = [[first], 0, null];
  return {
    push(value, run = null) {
      if (run === null || run !== open) line = [...line.slice(Math.max(0, place + 2 - MOST), place + 1), value];
      else line = [...line.slice(0, place), value];
      [place, open] = [line.length - 1, run];
    },
    go(by) {
      place = Math.min(line.length - 1, Math.max(0, place + by));
      open = null;
      return line[place];
    },
    back: () => place > 0,
    on: () => place < line.length - 1,
  };
}
