// Numbers as they are read and written, the same as helpers.view.primitive.rows; and the sheet that keeps what the reader wrote.
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
