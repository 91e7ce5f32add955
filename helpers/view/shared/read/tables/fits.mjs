// Which collective, over how many ranks, the numbers of a table can be of: helpers/nccl/output/tables/fits.py.
import { unreadable } from "./errors.mjs";
import { general } from "./text.mjs";

const sized = (names, nbytes) => Object.fromEntries(names.map((name) => [name, nbytes]));
export const WORD = {
  ...sized(["int8", "uint8", "char", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"], 1),
  ...sized(["half", "bfloat16"], 2),
  ...sized(["float", "int32", "uint32", "int"], 4),
  ...sized(["double", "int64", "uint64"], 8),
};
export const REDOPS = ["sum", "prod", "max", "min", "avg", "mulsum"];
const SLACK = 1e-9;

// 1 for any number of ranks, or `most` * (n - 1) / n.
const ONE = { most: 1, grows: false };
const PART = { most: 1, grows: true };
const TWICE = { most: 2, grows: true };
const ANY = [1, Infinity];
const NONE = [1, 0]; // first > last

// A program: algbw over size / time (null: anything), busbw over algbw, whether count is a rank's part, reduces, has a root.
const kind = (name, alg, bus, has = {}) => ({ name, alg, bus, parts: false, reduces: false, rooted: false, ...has });
export const KINDS = [
  kind("all_reduce", ONE, TWICE, { reduces: true }),
  kind("reduce", ONE, ONE, { reduces: true, rooted: true }),
  kind("reduce_scatter", ONE, PART, { parts: true, reduces: true }),
  kind("sendrecv", ONE, ONE, { reduces: true }),
  kind("all_gather", ONE, PART, { parts: true }),
  kind("alltoall", ONE, PART, { parts: true }),
  kind("broadcast", ONE, ONE, { rooted: true }),
  kind("gather", ONE, PART, { parts: true, rooted: true }),
  kind("scatter", ONE, PART, { parts: true, rooted: true }),
  kind("hypercube", PART, ONE, { parts: true }),
  kind("alltoallv", null, PART),
];
export const BEFORE_2020 = [
  kind("all_gather", PART, ONE, { parts: true }),
  kind("reduce_scatter", PART, ONE, { parts: true, reduces: true }),
];
const OLD_REDOP = ["all_reduce", "reduce", "reduce_scatter", "alltoall"]; // programs with that column before 2.13
const NOT_IN_PLACE = ["alltoall", "alltoallv", "sendrecv"];
export const NAMES = KINDS.map(({ name }) => name);

// The numbers of ranks, first and last, for which a ratio lies from low to high; first > last where there are none.
function ranksOf({ most, grows }, low, high) {
  if (!grows) return low <= most && most <= high ? ANY : NONE;
  if (low >= most || high < 0) return NONE;
  const first = low > 0 ? 1 / (1 - low / most) : 1;
  const last = high < most ? 1 / (1 - high / most) : Infinity;
  return [Math.ceil(first * (1 - SLACK)), Math.floor(last * (1 + SLACK))];
}

// Takes row by row and drops what does not fit; a row after which nothing is left is refused.
// program, nranks: as the text says, or null. timed: whether its times are those that algbw was computed from (not with -C 1).
export class Fit {
  constructor(program, nranks, columns, timed = true) {
    Object.assign(this, { program, nranks, columns, timed });
    const kinds = columns.includes("error") ? [...KINDS, ...BEFORE_2020] : KINDS;
    const [first, last] = nranks === null ? ANY : [nranks, nranks];
    this.open = kinds.filter((one) => this.may(one)).map((one) => ({ kind: one, first, last }));
  }

  // alltoallv is believed only by name: anything is one.
  may({ name }) {
    return this.program ? name === this.program : name !== "alltoallv";
  }

  take(row) {
    const free = this.program === "alltoallv";
    if (!free) partIsWhole(row);
    let left = this.open.filter((open) => this.columnsFit(open.kind, row));
    for (const half of row.halves.filter((one) => one)) {
      if (this.timed && !free) inTime(row, half);
      left = left.map((open) => this.narrowed(open, row, half)).filter(({ first, last }) => first <= last);
    }
    if (!left.length) throw unreadable(this.nothingFits(row), row.line);
    this.open = left;
  }

  // What the columns say: an operation where something is reduced, a root where there is one.
  columnsFit(one, row) {
    if (!this.columns.includes("count")) return true; // a table of sizes and rates, which somebody shortened
    const hasRedop = this.columns.includes("redop");
    if (one.rooted !== (row.root !== null && row.root >= 0) || !this.checksFit(one, row)) return false;
    if (this.columns.includes("error") && hasRedop !== OLD_REDOP.includes(one.name)) return false;
    return !hasRedop || one.reduces === (row.redop !== null);
  }

  // Where nothing works in place, nothing is checked there: N/A, with a number out of place.
  checksFit({ name }, { halves: [first, last] }) {
    const none = first && last && first.wrong !== null && last.wrong === null;
    return !this.columns.includes("#wrong") || !none || NOT_IN_PLACE.includes(name);
  }

  narrowed({ kind: one, first, last }, row, half) {
    const spans = [ranksOf(one.bus, ...over(half.bus, half.alg)), ranksOfParts(one, row)];
    if (this.timed && one.alg && half.time && row.nbytes) {
      spans.push(ranksOf(one.alg, ...share(row.nbytes, half.time, half.alg)));
    }
    if (row.root !== null && row.root >= 0) spans.push([row.root + 1, Infinity]);
    const [firsts, lasts] = [spans.map((span) => span[0]), spans.map((span) => span[1])];
    return { kind: one, first: Math.max(first, ...firsts), last: Math.min(last, ...lasts) };
  }

  nothingFits({ halves, count, dtype, nbytes }) {
    const { alg, bus } = halves.find((half) => half);
    const where = this.nranks ? ` over ${this.nranks} ranks` : "";
    const who = this.program || "no collective of nccl-tests";
    const ratio = alg.value ? general(bus.value / alg.value, 4) : "nothing";
    const parts = count === null ? "" : `, ${count} elements of ${dtype} in ${nbytes} B`;
    const not = this.program ? " not" : "";
    const has = `${who}${where} has that${not} together with these columns and the rows before`;
    return `busbw ${bus.text} is ${ratio} of algbw ${alg.text}${parts}: ${has}`;
  }

  // The one that is left, null where several fit.
  collective() {
    const names = new Set(this.open.map((open) => open.kind.name));
    return names.size === 1 ? [...names][0] : null;
  }

  // How many there were, where only one number fits.
  ranks() {
    const [{ first, last }] = this.open;
    return first === last && this.open.every((open) => open.first === first && open.last === last) ? first : null;
  }
}

// The ends of top / bottom.
const over = (top, bottom) => [top.low / bottom.high, bottom.low > 0 ? top.high / bottom.low : Infinity];

// The ends of algbw over size / time, microseconds and GB/s.
const share = (nbytes, time, alg) => [(alg.low * time.low * 1e3) / nbytes, (alg.high * time.high * 1e3) / nbytes];

// What size over count says: 1 where count is all of it, else the number of ranks.
function ranksOfParts(one, { count, dtype, nbytes }) {
  if (!count || dtype === null || !one.alg) return ANY;
  const parts = Math.floor(nbytes / (count * WORD[dtype]));
  if (one.parts) return [parts, parts];
  return parts === 1 ? ANY : NONE;
}

// count elements are a whole part of size.
function partIsWhole({ count, dtype, nbytes, line }) {
  if (count === null || dtype === null) return;
  const part = count * WORD[dtype];
  if ((part === 0) !== (nbytes === 0) || (part && (nbytes < part || nbytes % part))) {
    throw unreadable(`${count} elements of ${dtype} are ${part} B, which is no whole part of ${nbytes} B`, line);
  }
}

// algbw is size / time, or, of hypercube and before 2020, half of it at least.
function inTime({ nbytes, line }, { time, alg }) {
  if (!time) return;
  const [low, high] = share(Math.max(nbytes, 1), time, alg);
  if (nbytes ? low > 1 || high < 0.5 : alg.low > 0) {
    const rate = time.value ? general(nbytes / time.value / 1e3, 4) : "no number of";
    throw unreadable(`${nbytes} B in ${time.text} µs are ${rate} GB/s, but algbw says ${alg.text}`, line);
  }
}
