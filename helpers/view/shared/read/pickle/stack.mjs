// The stack on which a pickle's values are made, its marks, and what it keeps.

import { Broken } from "./errors.mjs";
import { source } from "./source.mjs";

/** marks: heights of the stack; nothing below the last one is within reach until it goes.
 *
 * memo: kept values by number, with holes; kept: how many.
 */
export function machine(bytes) {
  return { from: source(bytes, true), stack: [], marks: [], memo: [], kept: 0 };
}

function floor({ marks }) {
  return marks.at(-1) ?? 0;
}

export function top(m) {
  if (m.stack.length <= floor(m)) throw new Broken("a value is missing");
  return m.stack.at(-1);
}

export function pop(m) {
  top(m);
  return m.stack.pop();
}

/** What stands above this height, taken off. */
export function above(m, height) {
  if (height < floor(m)) throw new Broken("a value is missing");
  return m.stack.splice(height);
}

/** The height of the last mark, which goes. */
export function mark(m) {
  if (!m.marks.length) throw new Broken("a mark is missing");
  return m.marks.pop();
}

/** The values above a height and the one below them, which stays; null where there are none to add. */
export function under(m, height) {
  if (height > m.stack.length || height <= floor(m)) throw new Broken("a value is missing");
  return height === m.stack.length ? null : [m.stack[height - 1], m.stack.splice(height)];
}

export function put(m, place) {
  const value = top(m);
  if (m.memo[place] === undefined) m.kept += 1;
  m.memo[place] = value;
}

export function get(m, place) {
  if (m.memo[place] === undefined) throw new Broken("nothing is kept there");
  m.stack.push(m.memo[place]);
}
