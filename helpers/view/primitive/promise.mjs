// What a primitive does to numbers, and the least that must move: the same as helpers.collectives, tested equal.
import { times } from "../shared/page/numbers.mjs";

export const OPS = ["sum", "avg", "max", "min", "product"];
const fold = (f) => (numbers) => numbers.reduce(f);
const sum = fold((a, b) => a + b);
const FOLDS = {
  sum,
  avg: (numbers) => sum(numbers) / numbers.length,
  max: fold((a, b) => Math.max(a, b)),
  min: fold((a, b) => Math.min(a, b)),
  product: fold((a, b) => a * b),
};

// The least that must move, as a share of N; N is the larger of one rank's input and output.
const SHARES = {
  0: () => 0,
  N: () => 1,
  "N/P": (p) => 1 / p,
  "N(P-1)/P": (p) => (p - 1) / p,
  "2N(P-1)/P": (p) => (2 * (p - 1)) / p,
};
export const share = (key, nranks) => SHARES[key](nranks);

export const peer = (root, nranks) => (root + 1) % nranks;

// s: { p: the primitive's data, nranks, root, op, length, rows }
export const givers = ({ p, nranks, root }) => (p.gives === "root" ? [root] : times(nranks, (r) => r));
export const gives = (s, rank) => s.p.gives === "all" || rank === s.root;
export const gets = ({ p, nranks, root }, rank) =>
  p.gets === "all" || rank === root || (p.gets === "peer" && rank === peer(root, nranks));

// [part] -> [[rank, part]] before the call: what a rank's output is made of, part by part; [] where nothing is promised.
function parts(s, rank) {
  const all = times(s.nranks, (r) => r);
  if (!gets(s, rank)) return [];
  if (s.p.kind === "whole") return [givers(s).map((r) => [r, 0])];
  if (s.p.kind === "gathers") return all.map((r) => [[r, 0]]);
  return s.p.name === "all_to_all" ? all.map((r) => [[r, rank]]) : [givers(s).map((r) => [r, rank])];
}

// How many numbers a part has.
const width = ({ p, nranks, length }) => (p.kind === "parts" ? length / nranks : length);

// [rank][slot] -> [[rank, slot]] before the call
export function origins(s) {
  const w = width(s);
  return times(s.nranks, (rank) =>
    parts(s, rank).flatMap((sources) => times(w, (i) => sources.map(([r, part]) => [r, part * w + i]))),
  );
}

// What a slot is folded by; one number alone stays as it is by any.
export const folding = ({ p, op }) => (p.name === "barrier" ? "max" : op);

// [rank][slot] -> the number there after the call
export const outcome = (s) =>
  origins(s).map((slots) => slots.map((from) => FOLDS[folding(s)](from.map(([r, i]) => s.rows[r][i]))));
