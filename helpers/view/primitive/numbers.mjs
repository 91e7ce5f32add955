// Numbers as they are read and written, the same as helpers.view.primitive.rows, and the sheet that keeps what the reader wrote; what a
// primitive does to them, and the least that must move: the same as helpers.collectives, tested equal.
import { times } from "../shared/page/numbers.mjs";

const LARGEST = 1e6;
const NUMBER = /^[-−+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
export const SLOTS = 16;

const bare = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text).replace(/^-0$/, "0");

// Six digits at least, no needless zeros: 0.333333, 1234567, 1.5e12.
export function numberText(value) {
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-4)) {
    const [mantissa, power] = value.toExponential(3).split("e");
    return `${bare(mantissa)}e${+power}`;
  }
  return bare(value.toFixed(Math.max(0, 7 - `${Math.trunc(size)}`.length)));
}

// null where the text is no number that the widget takes.
export function readNumber(text) {
  const value = NUMBER.test(text) ? Number(text.replace("−", "-")) : NaN;
  return Math.abs(value) <= LARGEST ? value + 0 : null;
}

// Rows of numbers from text: numbers apart by spaces or commas, rows by ";" or a new line; null where a word is no number.
export function readRows(text) {
  const rows = text
    .split(/[;\n]/)
    .map((row) => row.trim())
    .filter(Boolean)
    .map((row) => row.split(/[\s,]+/).map(readNumber));
  return rows.some((row) => row.includes(null)) ? null : rows;
}

export const rowsText = (rows) => rows.map((row) => row.join(" ")).join("; ");

// 23 is the third number of rank 2.
export const usual = (rank, slot) => 10 * rank + slot + 1;

export function usualLength({ name, kind }, nranks) {
  if (name === "barrier") return 1;
  return { gathers: 1, parts: nranks, whole: Math.min(nranks, 4) }[kind];
}

// How many numbers a rank may give.
export function lengths({ name, kind }, nranks) {
  if (name === "barrier") return [1];
  const [step, most] = { gathers: [1, SLOTS / nranks], parts: [nranks, SLOTS], whole: [1, 8] }[kind];
  return times(Math.floor(most / step), (i) => (i + 1) * step);
}

// Every number that may ever be on show: what falls out of sight is kept.
export function sheet(rows) {
  return times(SLOTS, (rank) => times(SLOTS, (slot) => rows[rank]?.[slot] ?? usual(rank, slot)));
}

export const crop = (cells, nranks, length) => times(nranks, (rank) => cells[rank].slice(0, length));

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
const givers = ({ p, nranks, root }) => (p.gives === "root" ? [root] : times(nranks, (r) => r));
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
