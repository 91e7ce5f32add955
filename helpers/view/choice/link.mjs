// The whole state as a link and as a line of Python; and whether what comes from outside can be drawn.
import { shown } from "../shared/page/copied.mjs";
import { GRAINS, offered, settled } from "./asked.mjs";

const PARTS = ["collective", "nbytes", "machine", "nodes", "nranks", "version", "beside"];
const NUMBERS = ["nbytes", "nodes", "nranks"];

export const encode = (s, index) => `#choice-${index}${PARTS.map((part) => `--${part}-${s[part]}`).join("")}`;

// The spec in a link made for this widget, or null when it is about something else.
export function decode(hash, index) {
  const values = PARTS.map((part) => `--${part}-([\\w.-]+?)`).join("");
  const found = new RegExp(`^#choice-${index}${values}$`).exec(hash);
  if (!found) return null;
  const told = PARTS.map((part, i) => [part, NUMBERS.includes(part) ? Number(found[i + 1]) : found[i + 1]]);
  return Object.fromEntries(told);
}

export function fits(known, s) {
  const grain = Math.log2(s.nbytes);
  if (!offered(known).includes(s.machine) || !known.model.collectives.includes(s.collective)) return false;
  if (!Number.isInteger(grain) || grain < GRAINS[0] || grain > GRAINS[1]) return false;
  return JSON.stringify(settled(known, s)) === JSON.stringify(s);
}

export const python = ({ machine, nbytes, ...rest }) => shown("explore_choice", [machine, nbytes], rest);
