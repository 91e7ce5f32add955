// The bytes of a pickle, taken in order: as they stand, or by frames as Python's C reader takes them.

import { Broken } from "./errors.mjs";

/** end: of the frame that is open, or of what was read last; with `frames` off all bytes are one. */
export function source(bytes, frames) {
  return { bytes, at: 0, end: frames ? 0 : bytes.length };
}

/** Past the next bytes; where they begin. Of a frame that ends before them nothing more is read: they stand behind it. */
export function pass(from, length) {
  const start = from.at + length <= from.end ? from.at : Math.max(from.at, from.end);
  if (start + length > from.bytes.length) throw new Broken("the end");
  from.at = start + length;
  return start;
}

/** The next bytes, a view of them. */
export function take(from, length) {
  const start = pass(from, length);
  return from.bytes.subarray(start, start + length);
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

/** The next bytes as an unsigned little-endian number; beyond 2^53 there is no such file. */
export function unsigned(from, width) {
  const start = pass(from, width);
  let value = 0;
  for (let at = start + width - 1; at >= start; at -= 1) value = value * 256 + from.bytes[at];
  return value;
}

/** The next four bytes as a signed little-endian number. */
export function int32(from) {
  return unsigned(from, 4) | 0;
}

/** A signed little-endian number of some bytes, as a BigInt. */
export function signed(bytes) {
  const width = 8 * bytes.length;
  if (width > 64) return BigInt.asIntN(width, BigInt(`0x${hexadecimal(bytes)}`));
  let [low, high] = [0, 0];
  for (let at = 0; at < bytes.length; at += 1) {
    if (at < 4) low += bytes[at] * 256 ** at;
    else high += bytes[at] * 256 ** (at - 4);
  }
  return BigInt.asIntN(width, (BigInt(high) << 32n) | BigInt(low));
}

function hexadecimal(bytes) {
  return Array.from(bytes, (one) => one.toString(16).padStart(2, "0"))
    .reverse()
    .join("");
}
