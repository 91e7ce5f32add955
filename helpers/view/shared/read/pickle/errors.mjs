// What is refused of a pickle; the words are those of helpers/plain_pickle.py.

import { Refused } from "../refused.mjs";

/** No pickle, or one that asks for more than data. */
export class NotPlain extends Refused {}

/** Inside the reader alone: the bytes do not hold together. */
export class Broken extends Error {}

export function named(module, name) {
  return new NotPlain(`holds data only; this file asks for ${module}.${name}`);
}

export function outside() {
  return new NotPlain("holds data only; this file asks for an object outside of it");
}

/** read(), and in its place one sentence for all that is broken. A RangeError: larger than JavaScript can hold. */
export function unbroken(read) {
  try {
    return read();
  } catch (error) {
    if (error instanceof Broken || error instanceof RangeError) throw new NotPlain("not a pickle, or a damaged one");
    throw error;
  }
}
