// Cells of Python that a reader copies. What a widget writes is a template of its own; whatever it puts in becomes a literal here, so
// that a cell does what it shows and no more, whoever wrote a name, a text or a link.

class Code {
  constructor(text) {
    this.text = text;
  }
  toJSON() {
    return this.text;
  }
}

const refuse = (value) => {
  throw new TypeError(`not for a cell: ${value}`);
};

// Nothing stands there unseen: beside ASCII and the arrows of schedules every letter is a number.
const quoted = (text) =>
  JSON.stringify(text).replace(/[^ -~→⇒]/gu, (one) => `\\U${one.codePointAt(0).toString(16).padStart(8, "0")}`);

// Text of several lines keeps them.
function textLiteral(text) {
  const lines = text.split("\n").map(quoted);
  return lines.length > 1 ? `"""${lines.map((line) => line.slice(1, -1)).join("\n")}"""` : lines[0];
}

const joined = (values) => values.map(literal).join(", ");

/** A value as a literal of Python; Code as it is. Nothing else can be written. */
export function literal(value) {
  if (value instanceof Code) return value.text;
  if (value === null) return "None";
  if (Array.isArray(value)) return `[${joined(value)}]`;
  if (typeof value === "string") return textLiteral(value);
  if (typeof value === "boolean") return value ? "True" : "False";
  return Number.isFinite(value) ? `${value}` : refuse(value);
}

/** What stands between the values is the widget's own: py`price(mine, ${nbytes})` */
export const py = ({ raw }, ...values) => new Code(String.raw({ raw }, ...values.map(literal)));

/** A name of Python's. */
export const word = (name) => (/^[A-Za-z_]\w*$/.test(name) ? new Code(name) : refuse(name));

/** (1, 2) */
export const tuple = (values) => py`(${new Code(joined(values))})`;

/** name(values, option=value): options that are undefined are left out; a long one has an argument a line. */
export function call(name, values, options) {
  const told = Object.entries(options).filter(([, value]) => value !== undefined);
  const all = [...values, ...told.map(([key, value]) => py`${word(key)}=${value}`)];
  const line = joined(all);
  const long = /^.{101,}$/.test(line) && all.map((one) => `\n    ${literal(one)},`).join("");
  return py`${word(name)}(${new Code(long ? `${long}\n` : line)})`;
}

/** Lines under each other; "" is an empty one. */
export const cell = (...lines) => new Code(lines.map((line) => line && literal(line)).join("\n"));

/** The cell that shows a widget: its import, and the call. */
export const shown = (name, values, options) =>
  cell(py`from helpers.view import ${word(name)}`, "", call(name, values, options));

/** The text of a cell, which has to come from here. */
export const textOf = (code) => (code instanceof Code ? code.text : refuse(code));
