// A printed decimal and what it may have been before it was rounded: helpers/nccl/output/tables/printed.py.

export const DIGITS = 15; // of a whole number: up to here a double holds every one
const DECIMAL = /^(\d{1,15})(?:\.(\d{1,12}))?(?:e([+-]?\d{1,2}))?$/;

// 26.08, 4525.6, 23275, 1.2e+07 as { text, value, low, high }, the ends of what printf rounds to it; null for anything else.
export function printed(text) {
  const found = DECIMAL.exec(text);
  if (!found) return null;
  const value = Number(text);
  const half = 0.500001 * Number(`1e${Number(found[3] ?? 0) - (found[2] ?? "").length}`); // 10 ** -5 is not 1e-5 here
  return { text, value, low: Math.max(0, value - half), high: value + half };
}

// The number in another unit, rounded once: 26.08 to the -6 is 26.08e-6 and no neighbour of it.
export function timesTenTo({ text }, power) {
  const [mantissa, exponent] = text.split("e");
  return Number(`${mantissa}e${Number(exponent ?? 0) + power}`);
}
