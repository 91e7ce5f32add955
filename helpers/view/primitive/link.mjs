// The whole state as a link: letters, digits, hyphens and underscores only, so a minus is an m and a point a p.
import { shown } from "../shared/page/copied.mjs";
import { OPS, SLOTS } from "./numbers.mjs";

const spell = (value) => `${value}`.replace(/-/g, "m").replace(".", "p");
const unspell = (text) => Number(text.replace(/m/g, "-").replace("p", "."));

export function encode({ primitive, nranks, root, op, values }, index) {
  const rows = values.map((row) => row.map(spell).join("_")).join("__");
  return `#primitive-${index}--primitive-${primitive}--nranks-${nranks}--root-${root}--op-${op}--values-${rows}`;
}

// The spec in a link made for this widget, or null when it is about something else or broken.
export function decode(hash, index) {
  const found = new RegExp(
    `^#primitive-${index}--primitive-(\\w+)--nranks-(\\d+)--root-(\\d+)--op-(\\w+)--values-([\\dmpe_]+)$`,
  ).exec(hash);
  if (!found) return null;
  const [, primitive, nranks, root, op, rows] = found;
  return {
    primitive,
    nranks: +nranks,
    root: +root,
    op,
    values: rows.split("__").map((row) => row.split("_").map(unspell)),
  };
}

// Can it be computed and drawn? What comes from outside is asked first.
export function fits(primitives, { primitive, nranks, root, op, values }) {
  const p = primitives.find(({ name }) => name === primitive);
  const length = values?.[0]?.length;
  return (
    Boolean(p) &&
    nranks >= 2 &&
    nranks <= SLOTS &&
    root < nranks &&
    OPS.includes(op) &&
    values.length === nranks &&
    length * (p.kind === "gathers" ? nranks : 1) <= SLOTS &&
    (p.kind !== "parts" || length % nranks === 0) &&
    (primitive !== "barrier" || length === 1) &&
    values.every((row) => row.length === length && row.every((value) => Math.abs(value) <= 1e6))
  );
}

// A cell that shows the same widget.
export const python = ({ primitive, nranks, root, op, values }) =>
  shown("primitive", [primitive], { nranks, values, root: root || undefined, op: op === "sum" ? undefined : op });
