// The columns of a table of nccl-tests, by the line that names them, and a row under them: helpers/nccl/output/tables/columns.py.
import { unreadable } from "./errors.mjs";
import { REDOPS, WORD } from "./fits.mjs";
import { DIGITS, printed } from "./printed.mjs";
import { repr, words } from "./text.mjs";

const BASE = ["size", "count", "type", "redop", "root"];
const CLOCKS = ["time", "cputime"];
const CHECKS = ["#wrong", "error"];
const SPREAD = ["i_min", "i_max", "i_p99", "i_cv%"];
const UNITS = ["(B)", "(elements)", "(us)", "(GB/s)", "(%)", "%Y-%m-%d", "%H:%M:%S"];
const EMPTY_HALF = 30; // spaces at least, where the out-of-place half of a row was not run
const WHOLE = new RegExp(`^\\d(?:_?\\d){0,${DIGITS - 1}}$`);
const ROOT = /^(?:-1|\d{1,9})$/;
const STAMP = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;
const same = (one, other) => one.length === other.length && one.every((name, at) => name === other[at]);

// base: those before the first time. half: those of one half. halves: 2, or 1 in a shortened table. stamped: a timestamp ends a row.
const columns = (base, half, halves, stamped) => ({ base, half, halves, stamped });
export const namesOf = ({ base, half }) => [...base, ...half];
// Whether algbw was computed from the times that are shown.
export const isTimed = ({ half }) => half[0] === "time";

// A row: refused where a number of it is missing, one too many, or none.
export function readRow(known, line) {
  const [tokens, empty] = tokensOf(known, line);
  const base = Object.fromEntries(known.base.map((name, at) => [name, tokens[at]]));
  const halves = [];
  for (let at = known.base.length; at < tokens.length; at += known.half.length) {
    halves.push(halfOf(known, tokens.slice(at, at + known.half.length), line));
  }
  const both = empty ? [null, halves[0]] : [halves[0], known.halves === 2 ? halves[1] : null];
  const dtype = base.type ?? null;
  if (dtype !== null && !Object.hasOwn(WORD, dtype)) {
    throw unreadable(`a type is one of ${Object.keys(WORD).join(", ")}, got ${repr(dtype)}`, line);
  }
  const count = base.count === undefined ? null : whole(base.count, "count", line);
  const nbytes = whole(base.size, "size", line);
  return { line, nbytes, count, dtype, redop: redopOf(base, line), root: rootOf(base, line), halves: both };
}

// What stands in the columns, and whether the first half is empty. A redop that was printed as "" gets its place back.
function tokensOf({ base, half, halves, stamped }, line) {
  const tokens = stamped ? unstamped(words(line.text), line) : words(line.text);
  const wanted = base.length + halves * half.length;
  const blank = base.includes("redop") && tokens.length > 3 && (ROOT.test(tokens[3]) || printed(tokens[3]));
  if (blank) tokens.splice(3, 0, "none");
  const gap = new RegExp(`^\\s*(?:\\S+\\s+){${base.length - 1}}\\S+ {${EMPTY_HALF},}\\S`).test(line.text);
  if (tokens.length === wanted - half.length && halves === 2 && gap) return [tokens, true];
  if (tokens.length !== wanted) {
    const names = [...base, ...Array(halves).fill(half).flat()].join(" ");
    throw unreadable(`a row has ${wanted} columns (${names}), got ${tokens.length}`, line);
  }
  return [tokens, false];
}

function unstamped(tokens, line) {
  const stamp = tokens.slice(-2).join(" ");
  if (!STAMP.test(stamp)) {
    throw unreadable(`a row ends with its timestamp, 2026-11-23 14:00:00, got ${repr(stamp)}`, line);
  }
  return tokens.slice(0, -2);
}

function halfOf({ half }, tokens, line) {
  const told = Object.fromEntries(half.map((name, at) => [name, tokens[at]]));
  for (const name of SPREAD[0] in told ? SPREAD : []) number(told[name], name, line);
  return {
    time: number(tokens[0], half[0], line),
    alg: number(told.algbw, "algbw", line),
    bus: number(told.busbw, "busbw", line),
    wrong: checkOf(told, "#wrong", line),
    error: checkOf(told, "error", line),
  };
}

// The columns that this line names; null where it is no such line, refused where it names them in no order that is known.
export function columnsOf(said, line) {
  const all = words(said);
  if (all[0] !== "size" || !all.includes("algbw") || !all.includes("busbw")) return null;
  const stamped = all.at(-1) === "timestamp";
  const names = stamped ? all.slice(0, -1) : all;
  const starts = [...names.keys()].filter((at) => CLOCKS.includes(names[at]));
  const halves = starts.map((start, k) => names.slice(start, starts[k + 1]));
  const base = names.slice(0, starts[0]);
  const inOrder = BASE.filter((name) => base.includes(name));
  const known = same(base, inOrder) && (base.length < 2 || base[1] === "count");
  const alike = halves.length === 1 || (halves.length === 2 && same(...halves));
  if (!(known && alike && isKnownHalf(halves[0]))) {
    throw unreadable("columns that no version of nccl-tests from 2.4 to 2.19 has", line);
  }
  return columns(base, halves[0], halves.length, stamped);
}

function isKnownHalf(half) {
  const rest = half.slice(CHECKS.includes(half[3]) ? 4 : 3);
  return (
    CLOCKS.includes(half[0]) && same(half.slice(1, 3), ["algbw", "busbw"]) && (same(rest, []) || same(rest, SPREAD))
  );
}

// Whether this is the line of units under the names; refused where it has others: a time in ms would be read as µs.
export function areKnownUnits(said, line) {
  const tokens = words(said);
  if (tokens[0] !== "(B)") return false;
  const other = tokens.filter((token) => !UNITS.includes(token));
  if (other.length) throw unreadable(`units that nccl-tests does not print: ${other.join(", ")}`, line);
  return true;
}

function number(text, what, line) {
  const found = printed(text);
  if (!found) throw unreadable(`${what} is a number that is not negative, got ${repr(text)}`, line);
  return found;
}

function whole(text, what, line) {
  if (!WHOLE.test(text)) {
    throw unreadable(`${what} is a whole number of at most ${DIGITS} digits, got ${repr(text)}`, line);
  }
  return Number(text.replaceAll("_", ""));
}

// How many are wrong, or by how much. null: N/A, or no such column.
function checkOf(told, name, line) {
  const text = told[name] ?? "N/A";
  if (text === "N/A") return null;
  const { value } = number(text, name, line);
  if (name === "#wrong" && !Number.isInteger(value))
    throw unreadable(`#wrong counts elements, got ${repr(text)}`, line);
  return value;
}

function redopOf({ redop = "none" }, line) {
  if (redop !== "none" && !REDOPS.includes(redop)) {
    throw unreadable(`redop is one of ${REDOPS.join(", ")} or none, got ${repr(redop)}`, line);
  }
  return redop === "none" ? null : redop;
}

function rootOf({ root = null }, line) {
  if (root === null) return null;
  if (!ROOT.test(root)) throw unreadable(`root is a rank, or -1 where there is none, got ${repr(root)}`, line);
  return Number(root);
}
