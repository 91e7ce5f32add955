// What a field of the flight recorder's dump must be, or a Refused that names it. See helpers/nccl/output/flights/flight_checks.py.

import { isTuple, typeName } from "../pickle/data.mjs";
import { textRepr } from "../python/spelled.mjs";
import { head, length } from "../python/texts.mjs";
import { whole } from "../python/whole.mjs";
import { Refused } from "../refused.mjs";

export const MOST_RANKS = 1 << 20; // of one job
const MOST_EXTENTS = 64; // of a tensor: torch's own limit
const MOST_FRAMES = 1 << 22; // with the entries
const MOST_TENSORS = 1 << 18;
const MOST_LETTERS = 1 << 24; // of the ranks of all groups
const WHOLE = 1n << 63n;
const BOOLS = { true: "True", false: "False" };

/** A value in an error: short. */
export function shown(value) {
  if (typeof value === "string") return textRepr(head(value, 60));
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return BOOLS[value];
  const small = typeof value === "bigint" && value < WHOLE && value > -WHOLE;
  return small ? String(value) : `of type ${typeName(value)}`;
}

/** Refused where the whole dump says more than any job does: a pickle may name one list a million times. */
export function notTooMuch(groups, entries) {
  const texts = [...groups.values()].map((about) => (isDict(about) ? about.get("ranks") : null));
  const rows = entries.filter(isDict);
  const letters = sum(texts, (text) => (typeof text === "string" ? length(text) : 0));
  const frames = entries.length + sum(rows, (row) => lengthOf(row.get("frames")));
  const tensors = sum(rows, (row) => lengthOf(row.get("input_sizes")) + lengthOf(row.get("input_dtypes")));
  limited(letters, "letters of ranks", MOST_LETTERS);
  limited(frames, "entries and frames", MOST_FRAMES);
  limited(tensors, "tensors", MOST_TENSORS);
}

function sum(values, of) {
  return values.reduce((total, one) => total + of(one), 0);
}

function lengthOf(value) {
  return Array.isArray(value) ? value.length : 0;
}

function limited(count, what, most) {
  if (count > most) throw new Refused(`${count} ${what}, expected at most ${most}`);
}

/** A tensor's extents. */
export function aSize(value, about) {
  const extents = aList(value, about).map((extent) => aWhole(extent, about));
  if (extents.length > MOST_EXTENTS) {
    throw new Refused(`${about}: ${extents.length} extents, expected at most ${MOST_EXTENTS}`);
  }
  return extents;
}

/** The ranks of a group, "[0, 1]", in order. */
export function someRanks(name, about) {
  if (typeof name !== "string") throw new Refused("pg_config: expected texts as names of groups");
  const text = isDict(about) ? about.get("ranks") : null;
  const ranks = numbersIn(text);
  if (!ranks.length || new Set(ranks).size < ranks.length || ranks.some((rank) => rank >= MOST_RANKS)) {
    throw new Refused(`pg_config of ${shown(name)}: ranks ${shown(text)}, expected such as '[0, 1]'`);
  }
  return ranks.toSorted((one, other) => one - other);
}

function numbersIn(text) {
  if (typeof text !== "string" || !text.startsWith("[") || !text.endsWith("]")) return [];
  const parts = text.slice(1, -1).split(",");
  const fit = parts.every((part, at) => (at ? /^ ?\d{1,7}$/ : /^\d{1,7}$/).test(part));
  return fit ? parts.map(Number) : [];
}

export function aWhole(value, about) {
  if (typeof value !== "bigint" || value < 0n || value >= WHOLE) {
    throw new Refused(`${about} is ${typeName(value)}, expected a whole number from 0 on`);
  }
  return whole(value);
}

export function someTexts(value, about) {
  const texts = aList(value, about);
  if (!texts.every((text) => typeof text === "string")) throw new Refused(`${about}: expected texts`);
  return [...texts];
}

export function aList(value, about) {
  if (!Array.isArray(value)) throw new Refused(`${about} is ${typeName(value)}, expected a list`);
  return isTuple(value) ? [...value] : value;
}

export function aDict(value, about) {
  if (!isDict(value)) throw new Refused(`${about} is ${typeName(value)}, expected a dict`);
  return value;
}

export function isDict(value) {
  return value instanceof Map;
}
