// What is on show: one primitive, its ranks, and a sheet of numbers that survives every choice.
import { crop, lengths, peer, sheet, usualLength } from "./numbers.mjs";

// s: { p, nranks, root, op, length, cells: the sheet, rows: what of it is in use }
const complete = (s) => ({ ...s, rows: crop(s.cells, s.nranks, s.length) });

export function fromSpec(primitives, { primitive, nranks, root, op, values }) {
  const p = primitives.find(({ name }) => name === primitive);
  return complete({ p, nranks, root, op, length: values[0].length, cells: sheet(values) });
}

// Another primitive, another number of ranks: root and length stay where they still fit.
export function changed(primitives, s, { name = s.p.name, ...change }) {
  const next = { ...s, ...change, p: primitives.find((one) => one.name === name) };
  next.root = Math.min(next.root, next.nranks - 1);
  const keeps = next.p.kind === s.p.kind && lengths(next.p, next.nranks).includes(next.length);
  return complete(keeps ? next : { ...next, length: usualLength(next.p, next.nranks) });
}

// Numbers written over, from a place on, as far as the sheet goes.
export function written(s, rows, rank = 0, slot = 0) {
  const cells = s.cells.map((row) => [...row]);
  rows.forEach((row, r) =>
    row.forEach((value, i) => {
      if (cells[rank + r]?.[slot + i] !== undefined) cells[rank + r][slot + i] = value;
    }),
  );
  return complete({ ...s, cells });
}

// What a kernel or a link may hold: a root or an op only where the primitive takes one.
export const specOf = ({ p, nranks, root, op, rows }) => ({
  primitive: p.name,
  nranks,
  root: p.rooted ? root : 0,
  op: p.reduces ? op : "sum",
  values: rows,
});

// The cell to begin with: the first that has come from elsewhere.
export function first(s, origins) {
  const holders = origins.map((slots, rank) => rank).filter((rank) => origins[rank].length);
  if (s.p.name === "send_recv") return [peer(s.root, s.nranks), 0];
  return [holders.find((rank) => origins[rank][0].some(([r]) => r !== rank)) ?? holders[0], 0];
}
