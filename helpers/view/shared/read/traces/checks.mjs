// What a field of a trace must be, or a Refused that names the event. See helpers/nccl/output/traces/kineto_checks.py.

import { typeName } from "../pickle/data.mjs";
import { textRepr } from "../python/spelled.mjs";
import { head } from "../python/texts.mjs";
import { Refused } from "../refused.mjs";

const LATEST = 1n << 63n; // nanoseconds
const MOST_LETTERS = 60; // of a value in an error, and of a number
const PLAIN = /^(\d+)\.(\d+)$/;
const POWER = /^\d+(?:\.\d+)?[eE][-+]?\d+$/;
const BOOLS = { true: "True", false: "False" };

/** A number with a point or a power, as it was written. */
export class Digits {
  constructor(text) {
    this.text = text;
  }
}

/** dict.get(name, otherwise). */
export const field = (data, name, otherwise = null) => (data.has(name) ? data.get(name) : otherwise);

export function shown(value) {
  if (value instanceof Digits) return value.text.slice(0, MOST_LETTERS);
  if (typeof value === "string") return textRepr(head(value, MOST_LETTERS));
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return BOOLS[value];
  const small = typeof value === "bigint" && value < LATEST && value > -LATEST;
  return small ? String(value) : `of type ${typeName(value)}`;
}

/** Of microseconds, to the digit, as a BigInt. */
export function nanoseconds(value, about) {
  const found = exact(value);
  if (found === null || found < 0n || found >= LATEST) {
    throw new Refused(`${about} is ${shown(value)}, expected microseconds from 0 on`);
  }
  return found;
}

function exact(value) {
  if (typeof value === "bigint") return value * 1000n;
  if (!(value instanceof Digits) || value.text.length > MOST_LETTERS) return null;
  const found = PLAIN.exec(value.text);
  if (found) return BigInt(found[1]) * 1000n + BigInt(`${found[2]}000`.slice(0, 3));
  return POWER.test(value.text) ? rounded(Number(value.text) * 1000) : null;
}

function rounded(number) {
  return number < Number(LATEST) ? BigInt(Math.trunc(number)) : null;
}

/** A BigInt from 0 on. */
export function aWhole(value, about) {
  if (typeof value !== "bigint" || value < 0n || value >= LATEST) {
    throw new Refused(`${about} is ${shown(value)}, expected a whole number from 0 on`);
  }
  return value;
}

export function aText(value, about) {
  if (typeof value !== "string") throw new Refused(`${about} is ${shown(value)}, expected a text`);
  return value;
}

/** A process or a thread: a number or a name. */
export function aPlace(value, about) {
  const fits = typeof value === "string" || (typeof value === "bigint" && value < LATEST && value > -LATEST);
  if (!fits) throw new Refused(`${about} is ${shown(value)}, expected a number or a name`);
  return value;
}

export function aList(value, about) {
  if (!Array.isArray(value)) throw new Refused(`${about} is ${shown(value)}, expected a list`);
  return value;
}

export function aDict(value, about) {
  if (!(value instanceof Map)) throw new Refused(`${about} is ${shown(value)}, expected a dict`);
  return value;
}
