// Pickles read as data: dicts, lists, tuples, texts, bytes and numbers; helpers/plain_pickle.py in the page.
// A pickle can ask for any class and any function. What does is refused here, so that a page says of a file what Python says of it.

import { NotPlain, Broken, unbroken } from "./errors.mjs";
import { lookThrough } from "./look.mjs";
import { STEPS, stepCode } from "./opcodes.mjs";
import { machine, pop } from "./stack.mjs";
import { DOES } from "./steps.mjs";

export const DEEPEST = 32; // lists in dicts in lists; torch's own dumps need six

const STOP = STEPS.findIndex((one) => one?.name === "STOP");
const BY_CODE = STEPS.map((one) => one && DOES[one.name]);

/** The data of a pickle, a Uint8Array, in the types of data.mjs: whole numbers are BigInts, dicts are Maps.
 *
 * NotPlain, a Refused, for what is no pickle and for what asks for more than data. longest: in bytes; with it the steps are looked through
 * first. Without recursion, and in time and memory that the length of the file bounds: a value that is kept and used again is one value.
 */
export function readPickle(bytes, longest = null) {
  if (longest !== null) lookThrough(bytes, longest);
  return unbroken(() => {
    const m = machine(bytes);
    for (;;) {
      const code = stepCode(m.from);
      const argument = STEPS[code].argument(m.from);
      if (code === STOP) return pop(m);
      if (!BY_CODE[code]) throw new Broken("a step that calls or makes something");
      BY_CODE[code](m, argument);
    }
  });
}

/** NotPlain where lists and dicts stand in each other deeper than this. Without recursion, and each thing once, so a circle ends. */
export function checkDepth(data, deepest = DEEPEST) {
  const seen = new Set();
  let level = [data];
  for (let depth = 0; level.length; depth += 1) {
    if (depth > deepest) throw new NotPlain(`is nested deeper than ${deepest} levels`);
    const below = [];
    for (const thing of level) {
      if (!(Array.isArray(thing) || thing instanceof Map) || seen.has(thing)) continue;
      seen.add(thing);
      for (const one of thing.values()) below.push(one);
    }
    level = below;
  }
}
