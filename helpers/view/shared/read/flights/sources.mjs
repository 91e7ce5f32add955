// A dump of the flight recorder as data: from a pickle or from JSON. See helpers/nccl/output/flights/flight_sources.py.

import { keyOf } from "../pickle/data.mjs";
import { NotPlain } from "../pickle/errors.mjs";
import { DEEPEST, checkDepth, readPickle } from "../pickle/pickle.mjs";
import { NoJson, TooDeep, parseJson } from "../python/json.mjs";
import { textRepr } from "../python/spelled.mjs";
import { length, tail } from "../python/texts.mjs";
import { Refused } from "../refused.mjs";

const LONGEST = 64 << 20; // bytes of one dump
const QUOTED = 60; // letters before what is wrong
const MOST_DIGITS = 4300; // Python's own limit
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The dict of a dump: of a pickle's bytes, or of JSON as text or bytes. Refused for what is no dump. */
export function dataOf(source) {
  try {
    const data = loaded(source);
    checkDepth(data);
    if (data instanceof Map && data.has("version") && data.has("pg_config")) return data;
  } catch (error) {
    if (!(error instanceof NotPlain)) throw error;
    throw new Refused(error.message.includes("not a pickle") ? error.message : `the dump ${error.message}`);
  }
  throw new Refused("no dump of the flight recorder: expected a dict with 'version', 'pg_config' and 'entries'");
}

function loaded(source) {
  if (typeof source !== "string" && !opensJson(source)) return readPickle(source, LONGEST);
  const long = typeof source === "string" ? length(source) : source.length;
  if (long > LONGEST) throw new NotPlain(`is longer than ${LONGEST} bytes: ${long}`);
  const text = typeof source === "string" ? source : decoded(source);
  try {
    return parseJson(text, { whole: wholeNumber, float: Number, key: keyOf });
  } catch (error) {
    if (error instanceof TooDeep) throw new NotPlain(`is nested deeper than ${DEEPEST} levels`);
    if (error instanceof NoJson) throw new Refused(`not JSON from behind ${before(text, error.at)} on`);
    throw error;
  }
}

/** A "{" behind what bytes.lstrip() takes off. */
function opensJson(bytes) {
  return bytes.find((one) => one !== 32 && !(one >= 9 && one <= 13)) === 0x7b;
}

function decoded(bytes) {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new Refused("not JSON: these bytes are no text in UTF-8");
  }
}

function before(text, at) {
  let end = at;
  while (end > 0 && " \t\r\n,".includes(text[end - 1])) end -= 1;
  return textRepr(tail(text.slice(0, end), QUOTED));
}

function wholeNumber(digits) {
  if (digits.length > MOST_DIGITS) {
    throw new Refused(`a number of ${digits.length} digits, expected at most ${MOST_DIGITS}`);
  }
  return BigInt(digits);
}
