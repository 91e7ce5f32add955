// Texts and numbers spelled as Python spells them in an error.

export const words = (text) => text.match(/\S+/g) ?? [];

const ESCAPES = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };
const HIDDEN = /[\p{C}\p{Z}]/u;

// repr() of what JSON holds, numbers being texts: a text in quotes, None, True, False, a list, a Map as a dict.
export function repr(told) {
  if (told === null) return "None";
  if (typeof told === "boolean") return told ? "True" : "False";
  if (Array.isArray(told)) return `[${told.map(repr).join(", ")}]`;
  if (told instanceof Map) return `{${[...told].map(([key, one]) => `${repr(key)}: ${repr(one)}`).join(", ")}}`;
  const quote = told.includes("'") && !told.includes('"') ? '"' : "'";
  return quote + [...told].map((letter) => escaped(letter, quote)).join("") + quote;
}

function escaped(letter, quote) {
  if (letter === quote) return `\\${letter}`;
  if (ESCAPES[letter]) return ESCAPES[letter];
  if (letter === " " || !HIDDEN.test(letter)) return letter;
  const code = letter.codePointAt(0);
  const [lead, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return `\\${lead}${code.toString(16).padStart(digits, "0")}`;
}

// f"{value:.{digits}g}": an exact half goes to the even digit, where toPrecision goes upwards.
export function general(value, digits = 6) {
  const [all, exponent] = value.toExponential(20).split("e");
  const kept = all.replace(".", "").slice(0, digits);
  const isHalf = /^50*$/.test(all.replace(".", "").slice(digits));
  const down = isHalf && Number(kept.at(-1)) % 2 === 0;
  const rounded = down ? Number(`${kept}e${exponent - digits + 1}`) : value;
  const [shown, power] = rounded.toExponential(digits - 1).split("e");
  return -4 <= power && power < digits ? plain(shown, Number(power)) : scientific(shown, Number(power));
}

const bare = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
const plain = (shown, power) =>
  bare(Number(`${shown}e${power}`).toFixed(Math.max(0, shown.replace(".", "").length - 1 - power)));
const scientific = (shown, power) =>
  `${bare(shown)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
