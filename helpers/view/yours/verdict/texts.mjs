// Numbers and lists spelled as Python spells them: an exact half goes to the even digit.
import { general } from "../../shared/read/tables/text.mjs";
import { SECONDS, SIZES } from "../../shared/page/numbers.mjs";

// f"{value:.{decimals}f}", up to three decimals: only a multiple of 1/16 can be an exact half there.
export function fixed(value, decimals) {
  const scaled = value * 10 ** decimals;
  const half = (value * 16) % 1 === 0 && Math.abs(scaled % 1) === 0.5;
  return (half ? (2 * Math.round(scaled / 2)) / 10 ** decimals : value).toFixed(decimals);
}

// f"{share:.0%}"
export const percent = (share) => `${fixed(share * 100, 0)}%`;

// Three significant digits, or all of a whole number.
function number(value) {
  return Number.isInteger(value) || value >= 99.95 ? fixed(value, 0) : general(value, 3);
}

export function nbytesText(nbytes) {
  const [size, unit] = SIZES.find(([least]) => least <= Math.max(nbytes, 1));
  return `${number(nbytes / size)} ${unit}`;
}

export function secondsText(seconds) {
  if (seconds === 0) return "0 s";
  const [size, unit] = SECONDS.find(([least]) => seconds >= least * 0.9995) ?? SECONDS.at(-1);
  return `${number(seconds / size)} ${unit}`;
}

export const bandwidthText = (bytesPerSecond) => `${number(bytesPerSecond / 1e9)} GB/s`;

export const counted = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;

export const upperFirst = (text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

// By code points, as Python sorts texts.
export const byText = (one, other) => (one < other ? -1 : Number(one > other));

// statistics.median
export function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// The first of those with the least `key`; null of none.
export const least = (list, key) =>
  list.reduce((found, one) => (found === null || key(one) < key(found) ? one : found), null);
