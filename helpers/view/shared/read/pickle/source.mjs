// The bytes of a pickle, taken in order: as they stand, or by frames as Python's C reader takes them.

import { Broken } from "./errors.mjs";

/** end: of the frame that is open, or of what was read last; with `frames` off all bytes are one. */
export function source(bytes, frames) {
  return { bytes, at: 0, end: frames ? 0 : bytes.length };
}

/** The next bytes, a view of them. Of a frame that ends before them nothing more is read: they are taken from behind it. */
export function take(from, length) {
  const start = from.at + length <= from.end ? from.at : Math.max(from.at, from.end);
  if (start + length > from.bytes.length) throw new Broken("the end");
  from.at = start + length;
  return from.bytes.subarray(start, from.at);
}

/** Bytes of a bytes object: these may begin in a frame and end behind it. */
export function takeAcross(from, length) {
  if (from.at + length > from.bytes.length) throw new Broken("the end");
  from.at += length;
  return from.bytes.subarray(from.at - length, from.at);
}

export function byte(from) {
  if (from.at >= from.bytes.length) throw new Broken("the end");
  from.at += 1;
  return from.bytes[from.at - 1];
}

/** The rest of a line, without its newline. */
export function line(from) {
  let start = from.at;
  let newline = from.bytes.indexOf(10, start);
  if (start < from.end && newline >= from.end) {
    start = from.end;
    newline = from.bytes.indexOf(10, start);
  }
  if (newline < 0) throw new Broken("no end of a line");
  from.at = newline + 1;
  return from.bytes.subarray(start, newline);
}

/** A frame opens: its bytes must be there. One inside another ends with the other. */
export function frame(from, length) {
  if (from.at + length <= from.end) return;
  const start = Math.max(from.at, from.end);
  if (start + length > from.bytes.length) throw new Broken("the end");
  Object.assign(from, { at: start, end: start + length });
}

/** An unsigned little-endian number of some bytes; beyond 2^53 there is no such file. */
export function unsigned(bytes) {
  let value = 0;
  for (let at = bytes.length - 1; at >= 0; at -= 1) value = value * 256 + bytes[at];
  return value;
}

/** A signed little-endian number of some bytes, as a BigInt. */
export function signed(bytes) {
  const digits = Array.from(bytes, (one) => one.toString(16).padStart(2, "0"));
  return bytes.length ? BigInt.asIntN(8 * bytes.length, BigInt(`0x${digits.reverse().join("")}`)) : 0n;
}
