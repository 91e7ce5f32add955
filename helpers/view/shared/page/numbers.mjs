// The spelling of helpers.units: sizes in powers of 1024, bandwidths in powers of 1000, three significant digits.
export const SIZES = [
  [1024 ** 4, "TiB"],
  [1024 ** 3, "GiB"],
  [1024 ** 2, "MiB"],
  [1024, "KiB"],
  [1, "B"],
];
export const SECONDS = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];
export const PERCENT = [[0.01, "%"]];

// Python rounds an exact half to the even digit, JavaScript upwards; only a multiple of 1/16 can be such a half here.
function rounded(value, decimals) {
  const scaled = value * 10 ** decimals;
  const half = (value * 16) % 1 === 0 && scaled % 1 === 0.5;
  return half ? (2 * Math.round(scaled / 2)) / 10 ** decimals : Number(value.toFixed(decimals));
}

// Three significant digits, or all of a whole number.
export function number(value) {
  if (value === Math.round(value)) return `${value}`;
  if (value >= 99.95) return `${rounded(value, 0)}`;
  const decimals = 2 - Math.floor(Math.log10(value));
  return `${rounded(value, decimals)}`;
}

// "-1234567.25" -> "−1,234,567.25"
export const grouped = (text) =>
  text.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ",")).replace("-", "−");

export function nbytesText(nbytes) {
  const [size, unit] = SIZES.find(([s]) => s <= Math.max(nbytes, 1));
  return `${number(nbytes / size)} ${unit}`;
}

export function secondsText(seconds) {
  if (seconds === 0) return "0 s";
  const [size, unit] = SECONDS.find(([s]) => seconds >= s * 0.9995) ?? SECONDS[3];
  return `${number(seconds / size)} ${unit}`;
}

export const bandwidthText = (bytesPerSecond) => `${number(bytesPerSecond / 1e9)} GB/s`;

// A share of a whole with one decimal.
export const percentOf = (part, whole) => `${Math.floor((1000 * part) / whole + 0.5) / 10} %`;

// "1 step", "2 steps"
export const count = (n, one, more = `${one}s`) => `${n} ${n === 1 ? one : more}`;

// [make(0), ..., make(n - 1)]
export const times = (n, make) => Array.from({ length: n }, (_, i) => make(i));

// 1, 2 or 5 times a power of ten, so that about so many fit.
export function ticks(last, many) {
  const ten = 10 ** Math.floor(Math.log10(last / many));
  const by = ten * [1, 2, 5, 10].find((one) => one * ten * many >= last * (1 - 1e-9));
  return times(Math.floor(last / by + 1e-9) + 1, (i) => i * by);
}
