// Reads a pickle of plain data, protocols 2 to 5: dicts, lists, tuples, texts, numbers, bytes. It refuses names, so it can run nothing.
const WHY = "only plain data is read: dicts, lists, texts and numbers";
const NAMES = { 0x63: "GLOBAL", 0x93: "STACK_GLOBAL", 0x52: "REDUCE", 0x62: "BUILD", 0x81: "NEWOBJ", 0x92: "NEWOBJ_EX", 0x69: "INST", 0x6f: "OBJ", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 0x50: "PERSID", 0x51: "BINPERSID" };
const MARK = Symbol("mark");
const decoder = new TextDecoder("utf-8", { fatal: true });

// Texts come again and again: short ones of ASCII are made without the decoder.
function textOf(bytes, from, length) {
  if (length > 24) return decoder.decode(bytes.subarray(from, from + length));
  let text = "";
  for (let i = from; i < from + length; i++) {
    if (bytes[i] > 127) return decoder.decode(bytes.subarray(from, from + length));
    text += String.fromCharCode(bytes[i]);
  }
  return text;
}

// A little-endian two's complement of any length; a number where it is exact, else a BigInt.
function longOf(bytes, from, length) {
  let value = 0n;
  for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[from + i]);
  if (length && bytes[from + length - 1] > 127) value -= 1n << BigInt(8 * length);
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

// A plain object is quick; the one key that is no key of it is refused.
function keyOf(key) {
  if (key === "__proto__") throw new Error(`a dict has the key __proto__: ${WHY}`);
  return typeof key === "string" ? key : `${key}`;
}

// Uint8Array -> the value. Throws an Error that says what is not plain data, or where the file ends too early.
export function unpickle(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [stack, memo] = [[], []];
  let at = 0;

  function take(length) {
    const from = at;
    at += length;
    if (at > bytes.length) throw new Error(`the file ends at byte ${bytes.length}, in the middle of a value`);
    return from;
  }
  const u8 = () => bytes[take(1)];
  const u32 = () => view.getUint32(take(4), true);
  function u64() {
    const value = view.getBigUint64(take(8), true);
    if (value > BigInt(bytes.length)) throw new Error(`the file ends at byte ${bytes.length}, in the middle of a value`);
    return Number(value);
  }
  const text = (length) => textOf(bytes, take(length), length);
  const raw = (length) => bytes.subarray(take(length), at);
  const long = (length) => longOf(bytes, take(length), length);
  const pop = () => {
    if (!stack.length || stack.at(-1) === MARK) throw new Error(`byte ${at}: a value is missing`);
    return stack.pop();
  };
  const top = (is, what) => {
    if (!is(stack.at(-1))) throw new Error(`byte ${at}: expected a ${what}`);
    return stack.at(-1);
  };
  function since() {
    const from = stack.lastIndexOf(MARK);
    if (from < 0) throw new Error(`byte ${at}: a mark is missing`);
    const values = stack.splice(from + 1);
    stack.pop();
    return values;
  }
  const isDict = (value) => value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;
  function fill(pairs) {
    const dict = top(isDict, "dict");
    for (let i = 0; i + 1 < pairs.length; i += 2) dict[keyOf(pairs[i])] = pairs[i + 1];
  }
  function extend(values) {
    const list = top(Array.isArray, "list");
    for (const value of values) list.push(value);
  }
  function recall(index) {
    if (!(index in memo)) throw new Error(`byte ${at}: memo ${index} is empty`);
    stack.push(memo[index]);
  }

  const does = {
    0x80: () => { const protocol = u8(); if (protocol < 2 || protocol > 5) throw new Error(`a pickle of protocol ${protocol}: expected 2 to 5`); },
    0x95: () => take(8), // FRAME: only a hint
    0x28: () => stack.push(MARK),
    0x4e: () => stack.push(null),
    0x88: () => stack.push(true),
    0x89: () => stack.push(false),
    0x4a: () => stack.push(view.getInt32(take(4), true)),
    0x4b: () => stack.push(u8()),
    0x4d: () => stack.push(view.getUint16(take(2), true)),
    0x8a: () => stack.push(long(u8())),
    0x8b: () => stack.push(long(u32())),
    0x47: () => stack.push(view.getFloat64(take(8))),
    0x8c: () => stack.push(text(u8())),
    0x58: () => stack.push(text(u32())),
    0x8d: () => stack.push(text(u64())),
    0x43: () => stack.push(raw(u8())),
    0x42: () => stack.push(raw(u32())),
    0x8e: () => stack.push(raw(u64())),
    0x5d: () => stack.push([]),
    0x7d: () => stack.push({}),
    0x29: () => stack.push([]),
    0x85: () => stack.push([pop()]),
    0x86: () => { const b = pop(); stack.push([pop(), b]); },
    0x87: () => { const c = pop(); const b = pop(); stack.push([pop(), b, c]); },
    0x74: () => stack.push(since()),
    0x61: () => { const value = pop(); extend([value]); },
    0x65: () => extend(since()),
    0x73: () => { const value = pop(); const key = pop(); fill([key, value]); },
    0x75: () => fill(since()),
    0x71: () => { memo[u8()] = stack.at(-1); },
    0x72: () => { memo[u32()] = stack.at(-1); },
    0x94: () => { memo.push(stack.at(-1)); },
    0x68: () => recall(u8()),
    0x6a: () => recall(u32()),
    0x30: () => pop(),
  };
  if (bytes[0] !== 0x80) throw new Error("this is no pickle of protocol 2 or later");
  for (;;) {
    const opcode = u8();
    if (opcode === 0x2e) return pop();
    if (!does[opcode]) throw new Error(`byte ${at - 1} asks for ${NAMES[opcode] ?? `opcode 0x${opcode.toString(16)}`}: ${WHY}`);
    does[opcode]();
  }
}
