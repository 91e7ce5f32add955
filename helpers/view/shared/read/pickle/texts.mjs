// The texts and numbers of a pickle: UTF-8 with halves of pairs in it, and the lines of protocol 0.

import { Broken } from "./errors.mjs";

const DIGITS = 4300; // Python makes no number of more
const SHORT = 24; // bytes of a text that is quicker to make without the decoder
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const ESCAPES = { "\\": "\\", "'": "'", '"': '"', a: "\x07", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

/** UTF-8 as Python reads it with "surrogatepass": a half of a pair may stand alone. Short ones of ASCII are made without the decoder. */
export function utf8(bytes, start, length) {
  if (length > SHORT) return longUtf8(bytes.subarray(start, start + length));
  let text = "";
  for (let at = start; at < start + length; at += 1) {
    if (bytes[at] > 127) return longUtf8(bytes.subarray(start, start + length));
    text += String.fromCharCode(bytes[at]);
  }
  return text;
}

function longUtf8(bytes) {
  let [text, from] = ["", 0];
  for (let at = bytes.indexOf(0xed); at >= 0; at = bytes.indexOf(0xed, at + 1)) {
    if (bytes[at + 1] < 0xa0 || !(bytes[at + 1] < 0xc0 && bytes[at + 2] >= 0x80 && bytes[at + 2] < 0xc0)) continue;
    text += strictUtf8(bytes.subarray(from, at));
    text += String.fromCharCode(0xd000 | ((bytes[at + 1] & 63) << 6) | (bytes[at + 2] & 63));
    from = at + 3;
  }
  return text + strictUtf8(bytes.subarray(from));
}

export function strictUtf8(bytes) {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new Broken("no UTF-8");
  }
}

export function latin1(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return text;
}

export function ascii(bytes) {
  if (bytes.some((one) => one > 127)) throw new Broken("no ASCII");
  return latin1(bytes);
}

/** The line of INT: "00" and "01" are False and True. Python reads hexadecimal ones too, which no pickle has. */
export function intLine(bytes) {
  const text = latin1(bytes);
  return text === "00" || text === "01" ? text === "01" : digits(text);
}

/** The line of LONG: "12L". */
export function longLine(bytes) {
  return digits(latin1(bytes).replace(/L$/, ""));
}

function digits(text) {
  if (text.length > DIGITS || !/^-?(?:0|[1-9]\d*)$/.test(text)) throw new Broken("no number");
  return BigInt(text);
}

/** The line of GET and PUT. */
export function placeLine(bytes) {
  const text = latin1(bytes);
  if (!/^\d{1,10}$/.test(text)) throw new Broken("no place");
  return Number(text);
}

export function floatLine(bytes) {
  const text = latin1(bytes);
  const odd = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
  if (odd) return odd[2].toLowerCase() === "nan" ? NaN : Number(`${odd[1]}Infinity`);
  const value = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  if (!Number.isFinite(value)) throw new Broken("no number");
  return value;
}

/** The line of STRING: in quotes, with the escapes of bytes. */
export function quotedLine(bytes) {
  const found = /^(['"])([^]*)\1$/.exec(latin1(bytes));
  if (!found) throw new Broken("no quotes");
  return unescaped(found[2]);
}

/** The escapes of a bytes literal; what they say must be ASCII. */
export function unescaped(text) {
  const said = text.replace(/\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|([^]?))/g, (whole, octal, hex, letter) => {
    if (octal || hex) return String.fromCharCode(octal ? parseInt(octal, 8) & 255 : parseInt(hex, 16));
    if (letter === "" || letter === "x") throw new Broken("an escape is cut");
    return ESCAPES[letter] ?? (letter === "\n" ? "" : whole);
  });
  if (/[^\0-\x7f]/.test(said)) throw new Broken("no ASCII");
  return said;
}

/** The line of UNICODE: Latin-1, with \u and \U. */
export function rawLine(bytes) {
  return latin1(bytes).replace(/\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([^]?))/g, (whole, four, eight, letter) => {
    const point = parseInt(four ?? eight, 16);
    if (letter === "u" || letter === "U" || point > 0x10ffff) throw new Broken("an escape is cut");
    return letter === undefined ? String.fromCodePoint(point) : whole;
  });
}
