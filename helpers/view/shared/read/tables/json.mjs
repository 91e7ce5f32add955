// JSON as Python's json reads and writes it: an object is a Map, a number the text that it is written with.

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const NAMED = { null: null, true: true, false: false, NaN: "NaN", Infinity: "Infinity", "-Infinity": "-Infinity" };
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

// What the text holds, as { told }; as { wrong } the place from which on it is none; as { deep } that it is nested beyond all reading.
export function loads(text) {
  const state = { text, at: 0 };
  try {
    const told = value(state);
    space(state);
    return state.at === text.length ? { told } : { wrong: state.at };
  } catch (error) {
    if (error instanceof RangeError) return { deep: true };
    if (error instanceof Wrong) return { wrong: error.at };
    throw error;
  }
}

class Wrong extends Error {
  constructor(at) {
    super(`no JSON at ${at}`);
    this.at = at;
  }
}

function space(state) {
  while (" \n\r\t".includes(state.text[state.at] ?? "-")) state.at++;
}

// Goes behind one of these letters, after white space: which it is.
function expect(state, letters) {
  space(state);
  const letter = state.text[state.at];
  if (letter === undefined || !letters.includes(letter)) throw new Wrong(state.at);
  state.at++;
  return letter;
}

function value(state) {
  space(state);
  const letter = state.text[state.at];
  if (letter === "{") return object(state);
  if (letter === "[") return list(state);
  if (letter === '"') return string(state);
  return named(state);
}

function named(state) {
  const name = Object.keys(NAMED).find((one) => state.text.startsWith(one, state.at));
  NUMBER.lastIndex = state.at;
  const found = name ?? NUMBER.exec(state.text)?.[0];
  if (found === undefined) throw new Wrong(state.at);
  state.at += found.length;
  return name ? NAMED[name] : found;
}

function object(state) {
  const told = new Map();
  if (isEmpty(state, "}")) return told;
  do {
    space(state);
    if (state.text[state.at] !== '"') throw new Wrong(state.at);
    const key = string(state);
    expect(state, ":");
    told.set(key, value(state));
  } while (expect(state, ",}") === ",");
  return told;
}

function list(state) {
  const told = [];
  if (isEmpty(state, "]")) return told;
  do told.push(value(state));
  while (expect(state, ",]") === ",");
  return told;
}

// Goes behind the opening bracket, and behind the closing one where nothing stands between.
function isEmpty(state, closing) {
  state.at++;
  space(state);
  if (state.text[state.at] !== closing) return false;
  state.at++;
  return true;
}

function string(state) {
  const start = state.at++;
  let told = "";
  for (;;) {
    const letter = state.text[state.at];
    if (letter === undefined) throw new Wrong(start);
    if (letter < " ") throw new Wrong(state.at);
    state.at++;
    if (letter === '"') return told;
    told += letter === "\\" ? escape(state, start) : letter;
  }
}

function escape(state, start) {
  const letter = state.text[state.at];
  if (letter === undefined) throw new Wrong(start);
  if (letter !== "u") {
    if (!Object.hasOwn(ESCAPES, letter)) throw new Wrong(state.at - 1);
    state.at++;
    return ESCAPES[letter];
  }
  const digits = state.text.slice(state.at + 1, state.at + 5);
  // Behind the last digit something has to stand, if only the quotation mark.
  if (!/^[0-9a-fA-F]{4}$/.test(digits) || state.at + 5 >= state.text.length) throw new Wrong(state.at);
  state.at += 5;
  return String.fromCharCode(parseInt(digits, 16));
}

const SHORT = { '"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const quoted = (text) =>
  `"${text.replace(/[^ !#-[\]-~]/g, (one) => SHORT[one] ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;

// The text that Python's json.dumps makes of it, in ASCII.
export function dumps(told) {
  if (typeof told === "string") return quoted(told);
  if (Array.isArray(told)) return `[${told.map(dumps).join(", ")}]`;
  if (told instanceof Map) return `{${[...told].map(([key, one]) => `${quoted(key)}: ${dumps(one)}`).join(", ")}}`;
  return String(told);
}
