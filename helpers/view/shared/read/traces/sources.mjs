// A trace as data, of a text or of bytes that are not packed. See helpers/nccl/output/traces/kineto_sources.py.

import { NoJson, TooDeep, parseJson } from "../python/json.mjs";
import { textRepr } from "../python/spelled.mjs";
import { length, tail } from "../python/texts.mjs";
import { Refused } from "../refused.mjs";
import { Digits } from "./checks.mjs";

const LONGEST = 256 << 20; // bytes of the text
const QUOTED = 60; // letters before what is wrong
const MOST_DIGITS = 4300; // Python's own limit
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The dict of a trace, a Map. */
export function dataOf(source) {
  if (source.length > LONGEST) throw new Refused(`the trace is longer than ${LONGEST} bytes: trace fewer steps`);
  const data = parsed(typeof source === "string" ? source : decoded(source));
  if (data instanceof Map && data.has("traceEvents")) return data;
  throw new Refused("no trace of torch's profiler: expected a dict with 'traceEvents'");
}

function decoded(bytes) {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new Refused("not JSON: these bytes are no text in UTF-8");
  }
}

function parsed(text) {
  try {
    return parseJson(text, { whole, float: (digits) => new Digits(digits) });
  } catch (error) {
    if (error instanceof TooDeep) throw new Refused("the trace is nested too deep");
    if (error instanceof NoJson) throw new Refused(`not JSON behind letter ${where(text, error.at)}`);
    throw error;
  }
}

function where(text, at) {
  let end = at;
  while (end > 0 && " \t\r\n,".includes(text[end - 1])) end -= 1;
  const before = text.slice(0, end);
  return `${length(before)}, ${textRepr(tail(before, QUOTED))}`;
}

function whole(digits) {
  const count = digits.length;
  if (count > MOST_DIGITS) throw new Refused(`a number of ${count} digits, expected at most ${MOST_DIGITS}`);
  return BigInt(digits);
}
