// The proof of helpers.collectives.check in the page, tested equal to it: the same verdict, place and words.
import { times } from "../../shared/page/numbers.mjs";
import { replay } from "../../shared/schedules/schedule.mjs";
import { pledge, unfit } from "./pledge.mjs";

export const moveText = ({ chunk, src, dst, adds }) => `${chunk}:${src}${adds ? "⇒" : "→"}${dst}`;

// What is wrong with one transfer by itself: { short: for who draws or types, said: as Python says it, where }, or null.
function unsoundMove(s, { src, dst, chunk }) {
  for (const [name, kind, value, size] of [
    ["src", "rank", src, s.nranks],
    ["dst", "rank", dst, s.nranks],
    ["chunk", "chunk", chunk, s.nchunks],
  ]) {
    if (!(value >= 0 && value < size))
      return {
        short: `there is no ${kind} ${value}: ${kind}s are 0 to ${size - 1}`,
        said: `${name} must lie in 0..${size - 1}, got ${value}`,
        where: `, ${chunk}:${src}→${dst}`,
      };
  }
  const own = `rank ${src} sends chunk ${chunk} to itself`;
  return src === dst ? { short: own, said: own, where: "" } : null;
}

// The first thing for which a schedule cannot be: { message, short, step, index, rank, chunk }, or null. index: which transfer of the step.
export function unsound(s) {
  for (const [i, step] of s.steps.entries()) {
    const n = i + 1;
    if (!step.length) return { step: n, message: `step ${n} sends nothing: expected at least one transfer` };
    const written = new Map();
    for (const [index, t] of step.entries()) {
      const place = { step: n, index, rank: t.dst, chunk: t.chunk };
      const bad = unsoundMove(s, t);
      if (bad) return { ...place, short: bad.short, message: `${bad.said} in step ${n}${bad.where}` };
      const slot = t.dst * s.nchunks + t.chunk;
      if (written.has(slot)) {
        const twice =
          `writes chunk ${t.chunk} of rank ${t.dst} twice ` +
          `(${moveText(written.get(slot))} and ${moveText(t)}): one writer per slot and step`;
        return { ...place, short: `the step ${twice}`, message: `step ${n} ${twice}` };
      }
      written.set(slot, t);
    }
  }
  return null;
}

// The first transfer that sends, or adds into, what is not there yet.
function undefinedUse(s, before) {
  const defined = before.flat().map(Boolean);
  const slot = (rank, chunk) => rank * s.nchunks + chunk;
  for (const [i, step] of s.steps.entries()) {
    for (const t of step) {
      const uses = [[t.src, "sends"], ...(t.adds ? [[t.dst, "adds into"]] : [])];
      const found = uses.find(([rank]) => !defined[slot(rank, t.chunk)]);
      if (found) {
        const [rank, verb] = found;
        return {
          step: i + 1,
          from: i + 1,
          rank,
          chunk: t.chunk,
          message:
            `step ${i + 1}, ${moveText(t)}: rank ${rank} ${verb} chunk ${t.chunk}, but nothing is there yet: ` +
            `expected a slot that the collective fills before, or that an earlier step copied into`,
        };
      }
    }
    for (const t of step) defined[slot(t.dst, t.chunk)] = true;
  }
  return null;
}

const often = (n) => (n === 1 ? "" : n === 2 ? " twice" : ` ${n} times`);

// [1, 0, 2] -> "[0 + 2 twice]": whose contributions are inside.
export function insideText(counts) {
  const parts = counts.flatMap((n, o) => (n > 0 ? [`${o}${often(n)}`] : []));
  return `[${parts.join(" + ") || "nothing"}]`;
}

// The step from which on a slot has had what it must not have until the end, or null where it only lacks something.
function wentWrong(run, last, rank, chunk, want) {
  const tooMuch = (step) => run.counts(step, rank, chunk).some((n, o) => n > want[o]);
  let step = last;
  if (!tooMuch(step)) return null;
  while (step > 0 && tooMuch(step - 1)) step--;
  return step;
}

function brokenPromise(s, { before, after }) {
  const run = replay(s, before);
  const last = s.steps.length;
  for (let rank = 0; rank < s.nranks; rank++)
    for (let chunk = 0; chunk < s.nchunks; chunk++) {
      if (after[rank][chunk] < 0) continue;
      const want = times(s.nranks, (o) => (after[rank][chunk] >> o) & 1);
      const got = [...run.counts(last, rank, chunk)];
      if (got.every((n, o) => n === want[o])) continue;
      const step = 1 + s.steps.findLastIndex((moves) => moves.some((t) => t.dst === rank && t.chunk === chunk)) || null;
      const touched = step ? `last written in step ${step} of ${last}` : "never written";
      const message =
        `${s.collective} by ${s.algorithm}, ${s.nranks} ranks: rank ${rank} chunk ${chunk} holds ` +
        `${insideText(got)}, should hold ${insideText(want)} (${touched})`;
      return {
        rank,
        chunk,
        step,
        from: wentWrong(run, last, rank, chunk, want) ?? step ?? last,
        got: insideText(got),
        want: insideText(want),
        end: true,
        message,
      };
    }
  return null;
}

// null when the promise is kept, else { message: as ScheduleError says it, rank, chunk, step, from: where to look, end: seen at the end }
export function prove(s) {
  const bad = unsound(s);
  if (bad) return bad;
  const reason = unfit(s);
  if (reason) return { message: reason };
  const promised = pledge(s);
  return undefinedUse(s, promised.before) ?? brokenPromise(s, promised);
}
