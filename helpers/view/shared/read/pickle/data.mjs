// Python's data in JavaScript, told apart as Python tells it apart. What a pickle or JSON holds:
// int: BigInt. float: number. str: string. None: null. bool: boolean. bytes: Uint8Array. bytearray: Bytearray.
// list: Array. tuple: frozen Array. set: Set. frozenset: Frozenset. dict: Map. Keys stand as `keyOf` has them.

import { Broken } from "./errors.mjs";

const LARGEST_KEY = 1000; // values in a tuple, and bytes, that are a key

export class Bytearray extends Uint8Array {}

export class Frozenset extends Set {}

export function tuple(values) {
  return Object.freeze(values);
}

export function isTuple(value) {
  return Array.isArray(value) && Object.isFrozen(value);
}

/** A key of a dict or a member of a set, so that those are one here that are equal in Python: 1, 1.0 and True are 1n.
 *
 * A text is itself; bytes and tuples become texts behind a "\0". Broken for what Python does not take as a key, and what is too large.
 */
export function keyOf(value) {
  if (typeof value === "string") return value.startsWith("\0") ? `\0t${value}` : value;
  if (typeof value === "boolean") return BigInt(value);
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : value;
  return value === null || typeof value === "bigint" ? value : spelled(value, { left: LARGEST_KEY });
}

function spelled(value, budget) {
  budget.left -= value instanceof Uint8Array ? value.length : 1;
  if (budget.left < 0) throw new Broken("too large a key");
  if (isTuple(value)) return `\0(${value.map((one) => JSON.stringify(`${spelled(one, budget)}`)).join(",")})`;
  if (value instanceof Uint8Array && !(value instanceof Bytearray)) return `\0b${Array.from(value)}`;
  if (value !== null && typeof value === "object") throw new Broken("no key");
  const key = keyOf(value);
  return `${typeof key} ${key}`;
}

/** type(value).__name__. */
export function typeName(value) {
  if (value === null || value === undefined) return "NoneType";
  const simple = { bigint: "int", number: "float", string: "str", boolean: "bool" }[typeof value];
  if (simple) return simple;
  if (Array.isArray(value)) return isTuple(value) ? "tuple" : "list";
  if (value instanceof Map) return "dict";
  if (value instanceof Set) return value instanceof Frozenset ? "frozenset" : "set";
  return value instanceof Bytearray ? "bytearray" : "bytes";
}

/** bool(value). */
export function truth(value) {
  if (value instanceof Map || value instanceof Set) return value.size > 0;
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length > 0;
  return Number.isNaN(value) || Boolean(value);
}
