// Values as Python's repr() spells them, for the words of an error.

const NAMED = new Map([
  ["\\", "\\\\"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** repr() of a text: quotes as Python chooses them, and what cannot be printed as its number. */
export function textRepr(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const letters = Array.from(text, (letter) => {
    if (letter === quote) return `\\${quote}`;
    return NAMED.get(letter) ?? (printed(letter) ? letter : numbered(letter.codePointAt(0)));
  });
  return `${quote}${letters.join("")}${quote}`;
}

/** Python's str.isprintable() of one letter. */
function printed(letter) {
  return letter === " " || !/[\p{C}\p{Z}]/u.test(letter);
}

function numbered(point) {
  const [sign, digits] = point < 0x100 ? ["x", 2] : point < 0x10000 ? ["u", 4] : ["U", 8];
  return `\\${sign}${point.toString(16).padStart(digits, "0")}`;
}

/** repr() of None, a bool, a number or a text; of an array as a tuple of them. */
export function repr(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return tupleRepr(value);
  return typeof value === "string" ? textRepr(value) : String(value);
}

/** "(0, 1)", "(0,)". */
export function tupleRepr(values) {
  return `(${values.map(repr).join(", ")}${values.length === 1 ? "," : ""})`;
}

/** "[0, 1]". */
export function listRepr(values) {
  return `[${values.map(repr).join(", ")}]`;
}

/** repr() of a NamedTuple: "Setting(line=3, name='NCCL_ALGO', value='Ring', ignored='')". */
export function rowRepr(type, row) {
  return `${type}(${Object.entries(row)
    .map(([name, value]) => `${name}=${repr(value)}`)
    .join(", ")})`;
}
