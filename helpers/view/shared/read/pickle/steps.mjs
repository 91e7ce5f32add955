// What each step of a pickle does, as Python's C reader does it. A step that could make or call anything is refused or broken.

import { Bytearray, Frozenset, isTuple, keyOf, tuple } from "./data.mjs";
import { Broken, named, outside } from "./errors.mjs";
import { frame, signed } from "./source.mjs";
import { above, get, mark, pop, put, top, under } from "./stack.mjs";
import { ascii, floatLine, intLine, longLine, placeLine, quotedLine, rawLine, strictUtf8 } from "./texts.mjs";

const HIGHEST = 5; // protocol

function broken() {
  throw new Broken("there is nothing to call here");
}

function pushed(value) {
  return (m, argument) => m.stack.push(value(argument));
}

const VALUES = {
  NONE: pushed(() => null),
  NEWTRUE: pushed(() => true),
  NEWFALSE: pushed(() => false),
  INT: pushed(intLine),
  BININT: pushed(BigInt),
  BININT1: pushed(BigInt),
  BININT2: pushed(BigInt),
  LONG: pushed(longLine),
  LONG1: pushed(signed),
  LONG4: pushed(signed),
  FLOAT: pushed(floatLine),
  BINFLOAT: pushed((value) => value),
  STRING: pushed(quotedLine),
  BINSTRING: pushed(ascii),
  SHORT_BINSTRING: pushed(ascii),
  UNICODE: pushed(rawLine),
  SHORT_BINUNICODE: pushed((text) => text),
  BINUNICODE: pushed((text) => text),
  BINUNICODE8: pushed((text) => text),
  BINBYTES: pushed((bytes) => bytes.slice()),
  SHORT_BINBYTES: pushed((bytes) => bytes.slice()),
  BINBYTES8: pushed((bytes) => bytes.slice()),
  BYTEARRAY8: pushed((bytes) => new Bytearray(bytes)),
};

/** Texts of keys and values by turns, into a dict. */
function fill(dict, pairs) {
  if (!(dict instanceof Map) || pairs.length % 2) throw new Broken("no dict, or a key without a value");
  for (let at = 0; at < pairs.length; at += 2) dict.set(keyOf(pairs[at]), pairs[at + 1]);
  return dict;
}

/** Into a list, which a tuple is not. */
function extend(list, values) {
  if (!Array.isArray(list) || isTuple(list)) throw new Broken("no list");
  for (const value of values) list.push(value);
}

function appendAll(m) {
  extend(...(under(m, mark(m)) ?? [[], []]));
}

/** The one that pickles have most of, so without a list of its own. */
function append(m) {
  const value = pop(m);
  const list = top(m);
  if (!Array.isArray(list) || isTuple(list)) throw new Broken("no list");
  list.push(value);
}

function setItems(m, height) {
  fill(...(under(m, height) ?? [new Map(), []]));
}

function addItems(m) {
  const [set, values] = under(m, mark(m)) ?? [new Set(), []];
  if (!(set instanceof Set) || set instanceof Frozenset) throw new Broken("no set");
  for (const value of values) set.add(keyOf(value));
}

const BOXES = {
  EMPTY_LIST: pushed(() => []),
  EMPTY_TUPLE: pushed(() => tuple([])),
  EMPTY_DICT: pushed(() => new Map()),
  EMPTY_SET: pushed(() => new Set()),
  LIST: (m) => m.stack.push(above(m, mark(m))),
  TUPLE: (m) => m.stack.push(tuple(above(m, mark(m)))),
  TUPLE1: (m) => m.stack.push(tuple([pop(m)])),
  TUPLE2: (m) => m.stack.push(tuple(above(m, m.stack.length - 2))),
  TUPLE3: (m) => m.stack.push(tuple(above(m, m.stack.length - 3))),
  DICT: (m) => m.stack.push(fill(new Map(), above(m, mark(m)))),
  FROZENSET: (m) => m.stack.push(new Frozenset(above(m, mark(m)).map(keyOf))),
  APPEND: append,
  APPENDS: appendAll,
  SETITEM: (m) => setItems(m, m.stack.length - 2),
  SETITEMS: (m) => setItems(m, mark(m)),
  ADDITEMS: addItems,
};

/** Takes a value off, or the mark that stands there. */
function popOrMark(m) {
  if (m.marks.at(-1) === m.stack.length) m.marks.pop();
  else pop(m);
}

function protocol(m, number) {
  if (number > HIGHEST) throw new Broken("a protocol of later");
}

const BOOKS = {
  PROTO: protocol,
  FRAME: (m, length) => frame(m.from, length),
  MARK: (m) => m.marks.push(m.stack.length),
  POP: popOrMark,
  POP_MARK: (m) => above(m, mark(m)),
  DUP: (m) => m.stack.push(top(m)),
  GET: (m, bytes) => get(m, placeLine(bytes)),
  BINGET: get,
  LONG_BINGET: get,
  PUT: (m, bytes) => put(m, placeLine(bytes)),
  BINPUT: put,
  LONG_BINPUT: put,
  MEMOIZE: (m) => put(m, m.kept),
};

/** A class or a function by two lines. */
function global(m, lines) {
  throw named(...lines.map((bytes) => (bytes.length ? strictUtf8(bytes) : broken())));
}

function inst(m, lines) {
  mark(m);
  throw named(...lines.map((bytes) => (bytes.length ? ascii(bytes) : broken())));
}

function stackGlobal(m) {
  const [name, module] = [pop(m), pop(m)];
  if (typeof name !== "string" || typeof module !== "string") broken();
  throw named(module, name);
}

function persistent(m, bytes) {
  ascii(bytes);
  throw outside();
}

/** Data takes no state: only one that says nothing passes. */
function build(m) {
  const state = pop(m);
  top(m);
  const two = isTuple(state) && state.length === 2;
  const empty = two && state[0] === null && state[1] instanceof Map && !state[1].size;
  if (state !== null && !empty) broken();
}

const ASKS = {
  GLOBAL: global,
  INST: inst,
  STACK_GLOBAL: stackGlobal,
  PERSID: persistent,
  BINPERSID: (m) => {
    pop(m);
    throw outside();
  },
  BUILD: build,
  READONLY_BUFFER: (m) => {
    if (!(top(m) instanceof Uint8Array) || top(m) instanceof Bytearray) broken();
  },
};

/** name -> (machine, argument). What is not here calls or makes something: among data there is nothing to call. */
export const DOES = { ...VALUES, ...BOXES, ...BOOKS, ...ASKS };
