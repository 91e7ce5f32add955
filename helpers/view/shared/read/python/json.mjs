// JSON as Python's json.loads reads it: NaN and infinities too, and the place where it is none. An object is a Map.

const DEEPEST = 500; // lists in lists; Python gives up at some hundred more
const BLANK = /[ \t\n\r]*/y;
const NUMBER = /(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?/y;
const PIECE = /[ !#-[\]-\uffff]*/y; // no quote, no backslash, no control
const HEX = /[0-9a-fA-F]{4}/y;
const WORDS = { null: null, true: true, false: false };
const CONSTANTS = ["NaN", "Infinity", "-Infinity"];
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Not JSON. at: where in the text, in its own units. */
export class NoJson extends Error {
  constructor(at) {
    super(`no JSON at ${at}`);
    this.at = at;
  }
}

/** Lists in lists beyond what Python's own reader takes. */
export class TooDeep extends Error {}

/** make: what becomes of an object's `key`, of the digits of a `whole` number, and of a `float`, which may be a constant's name.
 *
 * Each stays the text that it is where nothing is given.
 */
export function parseJson(text, make = {}) {
  if (text.startsWith("\ufeff")) throw new NoJson(0);
  const same = (one) => one;
  const reader = { text, at: 0, depth: 0, make: { whole: same, float: same, key: same, ...make } };
  blank(reader);
  const data = value(reader);
  blank(reader);
  if (reader.at < text.length) throw new NoJson(reader.at);
  return data;
}

function match(reader, pattern) {
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.text);
  if (found) reader.at = pattern.lastIndex;
  return found;
}

function blank(reader) {
  match(reader, BLANK);
}

function value(reader) {
  const next = reader.text[reader.at];
  if (next === '"') return string(reader);
  if (next === "{") return inside(reader, object);
  if (next === "[") return inside(reader, array);
  const word = [...Object.keys(WORDS), ...CONSTANTS].find((one) => reader.text.startsWith(one, reader.at));
  if (word === undefined) return number(reader);
  reader.at += word.length;
  return word in WORDS ? WORDS[word] : reader.make.float(word);
}

function number(reader) {
  const found = match(reader, NUMBER);
  if (!found) throw new NoJson(reader.at);
  return found[2] || found[3] ? reader.make.float(found[0]) : reader.make.whole(found[0]);
}

function inside(reader, read) {
  if (reader.depth === DEEPEST) throw new TooDeep("too deep");
  reader.depth += 1;
  reader.at += 1;
  blank(reader);
  const made = read(reader);
  reader.depth -= 1;
  return made;
}

function object(reader) {
  const made = new Map();
  if (ends(reader, "}")) return made;
  for (;;) {
    if (reader.text[reader.at] !== '"') throw new NoJson(reader.at);
    const key = reader.make.key(string(reader));
    blank(reader);
    if (!ends(reader, ":")) throw new NoJson(reader.at);
    blank(reader);
    made.set(key, value(reader));
    if (!another(reader, "}")) return made;
  }
}

function array(reader) {
  const made = [];
  if (ends(reader, "]")) return made;
  for (;;) {
    made.push(value(reader));
    if (!another(reader, "]")) return made;
  }
}

/** Past the letter, if it is next. */
function ends(reader, letter) {
  if (reader.text[reader.at] !== letter) return false;
  reader.at += 1;
  return true;
}

function another(reader, last) {
  blank(reader);
  if (ends(reader, last)) return false;
  if (!ends(reader, ",")) throw new NoJson(reader.at);
  blank(reader);
  return true;
}

function string(reader) {
  const begin = reader.at;
  reader.at += 1;
  let made = "";
  for (;;) {
    made += match(reader, PIECE)[0];
    if (reader.at >= reader.text.length) throw new NoJson(begin);
    if (ends(reader, '"')) return made;
    if (!ends(reader, "\\")) throw new NoJson(reader.at);
    made += escape(reader, begin);
  }
}

/** What stands behind a backslash. */
function escape(reader, begin) {
  const letter = reader.text[reader.at];
  if (letter === undefined) throw new NoJson(begin);
  if (letter !== "u" && !Object.hasOwn(ESCAPES, letter)) throw new NoJson(reader.at - 1);
  reader.at += 1;
  if (letter !== "u") return ESCAPES[letter];
  const found = match(reader, HEX);
  if (!found || reader.at >= reader.text.length) throw new NoJson((found ? reader.at - 4 : reader.at) - 1);
  return String.fromCharCode(parseInt(found[0], 16));
}
