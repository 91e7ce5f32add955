// One unit on a whole picture, MiB or GiB, two decimals; helpers/view/memory/text.py writes the same.
const MIB = 2 ** 20;
const GIB = 2 ** 30;

// GiB from 4 GiB on.
export const unitFor = (nbytes) => (nbytes >= 4 * GIB ? "GiB" : "MiB");

export const sizeOf = (unit) => (unit === "GiB" ? GIB : MIB);

export const thousands = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");

// 1068990464 bytes in MiB -> "1,019.47"
export function amount(nbytes, unit) {
  const [whole, rest] = (nbytes / sizeOf(unit)).toFixed(2).split(".");
  return `${thousands(whole)}.${rest}`;
}

export const withUnit = (nbytes, unit) => `${amount(nbytes, unit)} ${unit}`;

// Round values for an axis up to `top` bytes: about `count` of them, in the unit. -> [{ nbytes, text }]
export function ticks(top, unit, count) {
  const most = top / sizeOf(unit);
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let i = 0; i * step <= most; i++) {
    const [whole, rest] = (i * step).toFixed(digits).split(".");
    found.push({ nbytes: i * step * sizeOf(unit), text: thousands(whole) + (rest ? `.${rest}` : "") });
  }
  return found;
}

// Microseconds as seconds or milliseconds, three digits.
export function timeText(micros) {
  if (micros >= 1e6) return `${(micros / 1e6).toFixed(micros >= 1e8 ? 1 : 3)} s`;
  return micros >= 1000 ? `${(micros / 1000).toFixed(1)} ms` : `${micros} µs`;
}
