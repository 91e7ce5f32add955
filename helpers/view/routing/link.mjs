// The whole state as a link and as a line of Python; and whether what comes from outside can be drawn.
import { shown } from "../shared/page/copied.mjs";
import { times } from "../shared/page/numbers.mjs";

export const CAPACITIES = [0.5, 0.75, 1, 1.25, 1.5, 2, 0];
export const OFFERED = {
  nranks: [2, 4, 8],
  tokens: [4, 6, 8, 12, 16],
  experts: [4, 8, 16],
  top_k: [1, 2, 4],
  skew: times(11, (i) => 10 * i),
  capacity: CAPACITIES,
  seed: times(100, (i) => i),
};
const PARTS = Object.keys(OFFERED);

export const encode = (s, index) => `#routing-${index}${PARTS.map((part) => `--${part}-${s[part]}`).join("")}`;

// The spec in a link made for this widget, or null when it is about something else.
export function decode(hash, index) {
  const values = PARTS.map((part) => `--${part}-([\\d.]+?)`).join("");
  const found = new RegExp(`^#routing-${index}${values}$`).exec(hash);
  return found && Object.fromEntries(PARTS.map((part, i) => [part, Number(found[i + 1])]));
}

export const fits = (s) => PARTS.every((part) => OFFERED[part].includes(s[part])) && s.nranks <= s.experts;

export const python = (s) => shown("explore_routing", [], s);
