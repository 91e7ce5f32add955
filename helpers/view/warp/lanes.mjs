// A warp counted: the same as helpers/memory/warps.py, tested equal; and the sentence over the picture.
import { count, percentOf, times } from "../shared/page/numbers.mjs";

export const LANES = 32;
export const SECTOR = 32;
export const LINE = 128;
const WORD = 4;
const RULES = {
  none: () => 0,
  "even or odd": (lane) => lane % 2,
  halves: (lane) => Math.floor(lane / 16),
  quarters: (lane) => Math.floor(lane / 8),
  "one lane": (lane) => Number(lane === 0),
  "every lane its own": (lane) => lane,
};
export const BRANCHES = Object.keys(RULES);

const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);

// [{ branch, lanes }], one entry an instruction: the arms that some lane takes, one after the other.
export function issued({ branch, taken, other }) {
  const arms = times(LANES, RULES[branch]);
  return distinct(arms).flatMap((arm) => {
    const lanes = times(LANES, (lane) => lane).filter((lane) => arms[lane] === arm);
    return times(arm % 2 ? other : taken, () => ({ branch: arm, lanes }));
  });
}

export const addresses = ({ stride, offset, nbytes }) => times(LANES, (lane) => offset + lane * stride * nbytes);

// Bytes asked for, and the 32-byte sectors and 128-byte lines that they lie in.
export function touched(s) {
  const asked = distinct(addresses(s).flatMap((start) => times(s.nbytes, (i) => start + i)));
  return {
    asked,
    sectors: distinct(asked.map((byte) => Math.floor(byte / SECTOR))),
    lines: distinct(asked.map((byte) => Math.floor(byte / LINE))),
  };
}

// Per bank, the distinct words that a load of 4-byte elements asks of it.
export function banked({ stride }) {
  const words = distinct(addresses({ stride, offset: 0, nbytes: WORD }).map((address) => address / WORD));
  return times(LANES, (bank) => words.filter((word) => word % LANES === bank));
}

export function counts(s) {
  if (s.view === "branch") {
    const steps = issued(s);
    return {
      steps: steps.length,
      useful: steps.reduce((sum, { lanes }) => sum + lanes.length, 0),
      passed: LANES * steps.length,
    };
  }
  if (s.view === "memory") {
    const { asked, sectors, lines } = touched(s);
    return { sectors: sectors.length, lines: lines.length, asked: asked.length, moved: SECTOR * sectors.length };
  }
  const words = banked(s);
  return {
    ways: Math.max(...words.map((one) => one.length)),
    banks: words.filter((one) => one.length).length,
    words: words.flat().length,
  };
}

export function warpSentence(s) {
  const n = counts(s);
  if (s.view === "branch") {
    const branch = s.branch === "none" ? "No branch" : `Branch on ${s.branch}`;
    const useful = `${percentOf(n.useful, n.passed)} of the lane-steps do something`;
    return `${branch}: the warp issues ${count(n.steps, "step")}, and ${useful}`;
  }
  if (s.view === "memory") {
    const load = `${s.nbytes}-byte elements, stride ${s.stride}, ${count(s.offset, "byte")} after a line's start`;
    const moved = `${n.moved} bytes moved for ${n.asked} asked, ${percentOf(n.asked, n.moved)}`;
    return `${load}: ${count(n.sectors, "sector")} in ${count(n.lines, "line")}, ${moved}`;
  }
  const passes = n.ways === 1 ? "1 pass, no conflict" : `${n.ways} passes, a ${n.ways}-way conflict`;
  return `Stride ${s.stride} in shared memory: ${count(n.words, "word")} in ${n.banks} of 32 banks, ${passes}`;
}
