// Bytes of a pickle as texts and whole numbers.

const decoder = new TextDecoder("utf-8", { fatal: true });

// Texts come again and again: short ones of ASCII are made without the decoder.
export function textOf(bytes, from, length) {
  if (length > 24) return decoder.decode(bytes.subarray(from, from + length));
  let text = "";
  for (let i = from; i < from + length; i++) {
    if (bytes[i] > 127) return decoder.decode(bytes.subarray(from, from + length));
    text += String.fromCharCode(bytes[i]);
  }
  return text;
}

// A little-endian two's complement of any length; a number where it is exact, else a BigInt.
export function longOf(bytes, from, length) {
  let value = 0n;
  for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[from + i]);
  if (length && bytes[from + length - 1] > 127) value -= 1n << BigInt(8 * length);
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}
