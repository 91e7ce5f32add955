// The steps of a pickle by their code, each with the kind of its argument, as Python's pickletools lists them.

import { Broken } from "./errors.mjs";
import { byte, int32, line, pass, take, takeAcross, unsigned } from "./source.mjs";
import { utf8 } from "./texts.mjs";

const LINES = { I: "INT", L: "LONG", S: "STRING", V: "UNICODE", F: "FLOAT", g: "GET", p: "PUT", P: "PERSID" };
const BARE = {
  "\x97": "NEXT_BUFFER",
  "\x98": "READONLY_BUFFER",
  N: "NONE",
  "\x88": "NEWTRUE",
  "\x89": "NEWFALSE",
  "]": "EMPTY_LIST",
  a: "APPEND",
  e: "APPENDS",
  l: "LIST",
  ")": "EMPTY_TUPLE",
  t: "TUPLE",
  "\x85": "TUPLE1",
  "\x86": "TUPLE2",
  "\x87": "TUPLE3",
  "}": "EMPTY_DICT",
  d: "DICT",
  s: "SETITEM",
  u: "SETITEMS",
  "\x8f": "EMPTY_SET",
  "\x90": "ADDITEMS",
  "\x91": "FROZENSET",
  0: "POP",
  2: "DUP",
  "(": "MARK",
  1: "POP_MARK",
  "\x94": "MEMOIZE",
  "\x93": "STACK_GLOBAL",
  R: "REDUCE",
  b: "BUILD",
  o: "OBJ",
  "\x81": "NEWOBJ",
  "\x92": "NEWOBJ_EX",
  ".": "STOP",
  Q: "BINPERSID",
};
// code: name, bytes of its number, and what the number is: "u" unsigned, "i" signed, "f" a float, else the length of what follows.
const NUMBERED = {
  J: ["BININT", 4, "i"],
  K: ["BININT1", 1, "u"],
  M: ["BININT2", 2, "u"],
  G: ["BINFLOAT", 8, "f"],
  h: ["BINGET", 1, "u"],
  j: ["LONG_BINGET", 4, "u"],
  q: ["BINPUT", 1, "u"],
  r: ["LONG_BINPUT", 4, "u"],
  "\x80": ["PROTO", 1, "u"],
  "\x82": ["EXT1", 1, "u"],
  "\x83": ["EXT2", 2, "u"],
  "\x84": ["EXT4", 4, "i"],
  "\x95": ["FRAME", 8, "u"],
  "\x8a": ["LONG1", 1, "long"],
  "\x8b": ["LONG4", 4, "long", "i"],
  T: ["BINSTRING", 4, "string", "i"],
  U: ["SHORT_BINSTRING", 1, "string"],
  B: ["BINBYTES", 4, "bytes"],
  C: ["SHORT_BINBYTES", 1, "bytes"],
  "\x8e": ["BINBYTES8", 8, "bytes"],
  "\x96": ["BYTEARRAY8", 8, "bytes"],
  "\x8c": ["SHORT_BINUNICODE", 1, "text"],
  X: ["BINUNICODE", 4, "text"],
  "\x8d": ["BINUNICODE8", 8, "text"],
};

/** By its code: the name of a step, and how its argument is read, null where there is none. */
export const STEPS = Array(256).fill(null);
const code = (letter) => letter.charCodeAt(0);
for (const [letter, name] of Object.entries(LINES)) STEPS[code(letter)] = { name, argument: line };
for (const [letter, name] of Object.entries(BARE)) STEPS[code(letter)] = { name, argument: () => null };
for (const [letter, [name, ...how]] of Object.entries(NUMBERED))
  STEPS[code(letter)] = { name, argument: numbered(how) };
STEPS[code("c")] = { name: "GLOBAL", argument: pair };
STEPS[code("i")] = { name: "INST", argument: pair };

function pair(from) {
  return [line(from), line(from)];
}

function numbered([width, kind, sign]) {
  if (kind === "u") return (from) => unsigned(from, width);
  if (kind === "i") return int32;
  if (kind === "f") return (from) => float(take(from, width));
  const body = { bytes: takeAcross, text }[kind] ?? take;
  return (from) => {
    const length = sign ? int32(from) : unsigned(from, width);
    if (length < 0) throw new Broken("a length below 0");
    return body(from, length);
  };
}

function text(from, length) {
  return utf8(from.bytes, pass(from, length), length);
}

function float(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0);
}

/** The code of the next step. */
export function stepCode(from) {
  const found = byte(from);
  if (!STEPS[found]) throw new Broken("no such step");
  return found;
}
