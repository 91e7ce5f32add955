// JSON as Python's json reads and writes it: an object is a Map, a number the text that it is written with.

import { NoJson, TooDeep, parseJson } from "../python/json.mjs";

// What the text holds, as { told }; as { wrong } the place from which on it is none; as { deep } that it is nested beyond all reading.
export function loads(text) {
  try {
    return { told: parseJson(text) };
  } catch (error) {
    if (error instanceof TooDeep) return { deep: true };
    if (error instanceof NoJson) return { wrong: error.at };
    throw error;
  }
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
