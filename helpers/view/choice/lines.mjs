// What the picture draws, as numbers: every candidate over the sizes, and who wins where, by version.
import { times } from "../shared/page/numbers.mjs";
import { chosen, GRAINS, runOf, way } from "./asked.mjs";

const [FIRST, LAST] = GRAINS;
const HALVES = 2; // points between two powers of two

// Who is chosen at each power of two, equals joined: [{ name, from, to }], as powers of two; each reaches half a power further.
export function stretches(known, s, version) {
  const found = [];
  for (let grain = FIRST; grain <= LAST; grain++) {
    const name = way(chosen(known, s, version, 2 ** grain));
    if (found.at(-1)?.name === name) found.at(-1).to = grain;
    else found.push({ name, from: grain, to: grain });
  }
  return found;
}

const sizes = times((LAST - FIRST) * HALVES + 1, (i) => Math.round(2 ** (FIRST + i / HALVES)));

// By way its points [nbytes, NCCL's estimate, ours or null], and the points of who wins: [nbytes, way, estimate, ours].
export function curves(known, s) {
  const all = new Map();
  const won = [];
  for (const nbytes of sizes) {
    const { candidates } = chosen(known, s, s.version, nbytes);
    for (const one of candidates) {
      if (!all.has(way(one))) all.set(way(one), []);
      all.get(way(one)).push([nbytes, one.raw, one.corrected]);
    }
    won.push([nbytes, way(candidates[0]), candidates[0].raw, candidates[0].corrected]);
  }
  return { all, won };
}

// The times of a published run inside the picture: [[nbytes, seconds]].
export function dots(known, published, s) {
  const run = runOf(known, published, s, s.version);
  const points = (run?.seconds ?? []).map((seconds, i) => [run.nbytes * 2 ** i, seconds]);
  return points.filter(([nbytes]) => nbytes >= 2 ** FIRST && nbytes <= 2 ** LAST);
}
