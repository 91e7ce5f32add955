// What may be asked, and what of it goes together. As spec.py.
import { built, fitting, given, MOST, weaves } from "./programs.mjs";
import { run } from "./timeline.mjs";

export const PARTS = { forward: [0.25, 8], input: [0.25, 8], weight: [0.25, 8], hop: [0, 4] };
const GRAIN = 0.25;

const weaving = (known, { schedule, versus, text }) =>
  [text ? "" : schedule, versus].some((name) => weaves(known, name));

// How many microbatches apart the slider's places are.
export const apart = (known, s) => (weaving(known, s) ? s.nranks : 1);
export const interleaves = weaving;

// A spec with what goes together: microbatches a multiple of the ranks where something interleaves, stages only there.
export function settled(known, s) {
  if (s.text && weaving(known, s) && s.nmicrobatches % s.nranks) return settled(known, { ...s, versus: "" });
  const by = apart(known, s);
  const most = Math.floor(MOST.nmicrobatches / by) * by;
  const nmicrobatches = Math.min(most, Math.max(by, Math.round(s.nmicrobatches / by) * by));
  return { ...s, nmicrobatches, nvirtual: weaving(known, s) ? s.nvirtual : 1 };
}

// Another choice: what interleaves begins with two stages per rank.
export function changed(known, s, change) {
  const next = { ...s, ...change };
  if (weaving(known, next) && !weaving(known, s)) next.nvirtual = 2;
  return settled(known, next);
}

export function runsOf(known, s) {
  const { nranks, nmicrobatches, nvirtual } = s;
  const first = s.text ? given(s.text) : built(known, s.schedule, nranks, nmicrobatches, nvirtual);
  const all = s.versus ? [first, built(known, s.versus, nranks, nmicrobatches, nvirtual)] : [first];
  return all.map((one) => run(one, s));
}

// The microbatches that the slider offers, each with its run of the first schedule.
export function alternatives(known, s) {
  if (s.text) return [];
  const by = apart(known, s);
  const many = Array.from({ length: Math.floor(MOST.nmicrobatches / by) }, (_, i) => (i + 1) * by);
  return many.map((m) => run(built(known, s.schedule, s.nranks, m, s.nvirtual), s));
}

// Can a spec from outside be drawn?
export function fits(known, s) {
  const told = (value, [least, most]) => value % GRAIN === 0 && value >= least && value <= most;
  if (!Number.isInteger(s.step)) return false;
  if (!Object.entries(PARTS).every(([name, ends]) => told(s[name], ends))) return false;
  const sizes = [s.nranks, s.nmicrobatches, s.nvirtual];
  const all = [...(s.text ? [] : [s.schedule]), ...(s.versus ? [s.versus] : [])];
  const there = all.every((name) => fitting(known, name, ...sizes.slice(0, 2), weaves(known, name) ? s.nvirtual : 1));
  return there && JSON.stringify(settled(known, s)) === JSON.stringify(s);
}
