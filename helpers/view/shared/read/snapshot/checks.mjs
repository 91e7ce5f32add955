// What a memory snapshot must have, or a Refused that names the place. See helpers/memory/snapshot/checks.py.

import { typeName } from "../pickle/data.mjs";
import { Refused } from "../refused.mjs";

export const LARGEST = 1n << 50n; // bytes; no GPU has a PiB
export const HIGHEST = 1n << 64n; // addresses, and microseconds
export const MOST_DEVICES = 1n << 16n;

/** What is missing, of another type or outside of 0 to most - 1 is Refused. missing: it need not be there. */
export function checkWhole(row, name, about, most, missing = false) {
  if (missing && !row.has(name)) return;
  const value = row.get(name);
  if (typeof value === "bigint" && value >= 0n && value < most) return;
  wrong(`${about}: ${name} ${given(row, name)}, expected a whole number from 0 to ${most - 1n}`);
}

export function checkText(row, name, about) {
  if (typeof row.get(name) !== "string") wrong(`${about}: ${name} ${given(row, name)}, expected a text`);
}

function given(row, name) {
  return row.has(name) ? `is ${typeName(row.get(name))}` : "is missing";
}

export function aList(value, about) {
  if (!Array.isArray(value)) wrong(`${about} is ${typeName(value)}, expected a list`);
  return value;
}

export function aDict(value, about) {
  if (!(value instanceof Map)) wrong(`${about} is ${typeName(value)}, expected a dict`);
  return value;
}

/** Refused where the lists together are longer: a pickle may name one list a million times. */
export function notTooMany(lists, what, most) {
  const count = lists.reduce((sum, list) => sum + list.length, 0);
  if (count > most) wrong(`${count} ${what}, expected at most ${most}`);
}

function wrong(told) {
  throw new Refused(`not a memory snapshot of torch: ${told}`);
}
