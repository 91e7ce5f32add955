// Reads a pickle of plain data, protocols 2 to 5: dicts, lists, tuples, texts, numbers, bytes. It refuses names, so it can run nothing.
//
// Why not Python in the page, as `yours` has it? It takes seconds to load, and the picture needs every event as an object here anyway.
import { longOf, textOf } from "./bytes.mjs";

const WHY = "only plain data is read: dicts, lists, texts and numbers";
const NAMES = {
  0x63: "GLOBAL",
  0x93: "STACK_GLOBAL",
  0x52: "REDUCE",
  0x62: "BUILD",
  0x81: "NEWOBJ",
  0x92: "NEWOBJ_EX",
  0x69: "INST",
  0x6f: "OBJ",
  0x82: "EXT1",
  0x83: "EXT2",
  0x84: "EXT4",
  0x50: "PERSID",
  0x51: "BINPERSID",
};
const MARK = Symbol("mark");

// A plain object is quick; the one key that is no key of it is refused.
function keyOf(key) {
  if (key === "__proto__") throw new Error(`a dict has the key __proto__: ${WHY}`);
  return typeof key === "string" ? key : `${key}`;
}

function take(reader, length) {
  const from = reader.at;
  reader.at += length;
  if (reader.at > reader.bytes.length)
    throw new Error(`the file ends at byte ${reader.bytes.length}, in the middle of a value`);
  return from;
}

function u8(reader) {
  return reader.bytes[take(reader, 1)];
}

function u32(reader) {
  return reader.view.getUint32(take(reader, 4), true);
}

function u64(reader) {
  const { view, bytes } = reader;
  const value = view.getBigUint64(take(reader, 8), true);
  if (value > BigInt(bytes.length)) throw new Error(`the file ends at byte ${bytes.length}, in the middle of a value`);
  return Number(value);
}

export function text(reader, length) {
  return textOf(reader.bytes, take(reader, length), length);
}

function raw(reader, length) {
  return reader.bytes.subarray(take(reader, length), reader.at);
}

function long(reader, length) {
  return longOf(reader.bytes, take(reader, length), length);
}

function pop(reader) {
  if (!reader.stack.length || reader.stack.at(-1) === MARK) throw new Error(`byte ${reader.at}: a value is missing`);
  return reader.stack.pop();
}

function top(reader, is, what) {
  if (!is(reader.stack.at(-1))) throw new Error(`byte ${reader.at}: expected a ${what}`);
  return reader.stack.at(-1);
}

function since(reader) {
  const from = reader.stack.lastIndexOf(MARK);
  if (from < 0) throw new Error(`byte ${reader.at}: a mark is missing`);
  const values = reader.stack.splice(from + 1);
  reader.stack.pop();
  return values;
}

function isDict(value) {
  return value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;
}

function fill(reader, pairs) {
  const dict = top(reader, isDict, "dict");
  for (let i = 0; i + 1 < pairs.length; i += 2) dict[keyOf(pairs[i])] = pairs[i + 1];
}

function extend(reader, values) {
  const list = top(reader, Array.isArray, "list");
  for (const value of values) list.push(value);
}

function recall(reader, index) {
  const { memo, stack } = reader;
  if (!(index in memo)) throw new Error(`byte ${reader.at}: memo ${index} is empty`);
  stack.push(memo[index]);
}

// Constants, numbers, texts, bytes.
function values(reader) {
  return {
    0x4e: () => reader.stack.push(null),
    0x88: () => reader.stack.push(true),
    0x89: () => reader.stack.push(false),
    0x4a: () => reader.stack.push(reader.view.getInt32(take(reader, 4), true)),
    0x4b: () => reader.stack.push(u8(reader)),
    0x4d: () => reader.stack.push(reader.view.getUint16(take(reader, 2), true)),
    0x8a: () => reader.stack.push(long(reader, u8(reader))),
    0x8b: () => reader.stack.push(long(reader, u32(reader))),
    0x47: () => reader.stack.push(reader.view.getFloat64(take(reader, 8))),
    0x8c: () => reader.stack.push(text(reader, u8(reader))),
    0x58: () => reader.stack.push(text(reader, u32(reader))),
    0x8d: () => reader.stack.push(text(reader, u64(reader))),
    0x43: () => reader.stack.push(raw(reader, u8(reader))),
    0x42: () => reader.stack.push(raw(reader, u32(reader))),
    0x8e: () => reader.stack.push(raw(reader, u64(reader))),
  };
}

// Lists, tuples and dicts.
function boxes(reader) {
  return {
    0x5d: () => reader.stack.push([]),
    0x7d: () => reader.stack.push({}),
    0x29: () => reader.stack.push([]),
    0x85: () => reader.stack.push([pop(reader)]),
    0x86: () => {
      const b = pop(reader);
      reader.stack.push([pop(reader), b]);
    },
    0x87: () => {
      const c = pop(reader);
      const b = pop(reader);
      reader.stack.push([pop(reader), b, c]);
    },
    0x74: () => reader.stack.push(since(reader)),
    0x61: () => {
      const value = pop(reader);
      extend(reader, [value]);
    },
    0x65: () => extend(reader, since(reader)),
    0x73: () => {
      const value = pop(reader);
      const key = pop(reader);
      fill(reader, [key, value]);
    },
    0x75: () => fill(reader, since(reader)),
  };
}

// What opens the file, marks a place, or is kept to be used again.
function books(reader) {
  return {
    0x80: () => {
      const protocol = u8(reader);
      if (protocol < 2 || protocol > 5) throw new Error(`a pickle of protocol ${protocol}: expected 2 to 5`);
    },
    0x95: () => take(reader, 8), // FRAME: only a hint
    0x28: () => reader.stack.push(MARK),
    0x71: () => {
      reader.memo[u8(reader)] = reader.stack.at(-1);
    },
    0x72: () => {
      reader.memo[u32(reader)] = reader.stack.at(-1);
    },
    0x94: () => {
      reader.memo.push(reader.stack.at(-1));
    },
    0x68: () => recall(reader, u8(reader)),
    0x6a: () => recall(reader, u32(reader)),
    0x30: () => pop(reader),
  };
}

const doesOf = (reader) => ({ ...values(reader), ...boxes(reader), ...books(reader) });

// Uint8Array -> the value. Throws an Error that says what is not plain data, or where the file ends too early.
export function unpickle(bytes) {
  const reader = { bytes };
  reader.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  Object.assign(reader, { stack: [], memo: [], at: 0 });

  reader.does = doesOf(reader);
  if (bytes[0] !== 0x80) throw new Error("this is no pickle of protocol 2 or later");
  for (;;) {
    const opcode = u8(reader);
    if (opcode === 0x2e) return pop(reader);
    if (!reader.does[opcode])
      throw new Error(`byte ${reader.at - 1} asks for ${NAMES[opcode] ?? `opcode 0x${opcode.toString(16)}`}: ${WHY}`);
    reader.does[opcode]();
  }
}
