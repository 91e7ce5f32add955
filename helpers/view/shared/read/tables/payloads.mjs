// The tables that torch scripts print after nccl-tests' example, payload, busbw, algbw: helpers/nccl/output/tables/payloads.py.
import { unreadable } from "./errors.mjs";
import { Facts, programOf } from "./header.mjs";
import { printed } from "./printed.mjs";
import { Rows } from "./tables.mjs";
import { repr } from "./text.mjs";

const COLUMNS = ["payload", "busbw", "algbw"];
const SIZE = /^(\d{1,6})(KiB|MiB|GiB|B)$/;
const UNITS = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const OVER = /average bandwidth of (\w+) over (\d{1,6}) ranks/;
const NCCL = /\bnccl=\((\d{1,3}), (\d{1,3}), (\d{1,3})\)/;

// Every such table; none where there is none.
export function payloads(lines) {
  const done = [];
  let [facts, rows] = [new Facts(), null];
  for (const line of lines) {
    const bare = line.text.trim();
    const cells = bare
      .replace(/^\|+|\|+$/g, "")
      .split("|")
      .map((cell) => cell.trim());
    if (cells.length === 3 && cells.every((cell, at) => cell === COLUMNS[at])) {
      rows = new Rows(line, ["size", "algbw", "busbw"], facts);
    } else if (!rows && cells.length === 3 && SIZE.test(cells[0]) && cells[2].endsWith("GBps")) {
      throw unreadable("a row, but no line above names its columns: payload, busbw, algbw", line);
    } else if (rows && (cells.length >= 2 || bare.startsWith("|"))) {
      if (!cells.every((cell) => /^[: -]*$/.test(cell))) rows.add(rowOf(cells, line));
    } else if (rows) {
      done.push(rows.table());
      [facts, rows] = [new Facts(), null];
    } else saidOf(facts, line);
  }
  return rows ? [...done, rows.table()] : done;
}

// What was run, over how many ranks, and with which NCCL.
function saidOf(facts, line) {
  const [over, nccl] = [OVER.exec(line.text), NCCL.exec(line.text)];
  if (over) Object.assign(facts, { program: programOf(over[1], line), ranks: Number(over[2]) });
  if (nccl) facts.nccl = nccl.slice(1).join(".");
}

function rowOf(cells, line) {
  const size = SIZE.exec(cells[0]);
  if (cells.length !== 3 || !size) {
    throw unreadable("a row reads like: | 32KiB | 1.44GBps | 0.82GBps |, sizes in powers of 1024", line);
  }
  const [bus, alg] = cells.slice(1).map((cell) => rateOf(cell, line));
  const half = { time: null, alg, bus, wrong: null, error: null };
  const nbytes = Number(size[1]) * UNITS[size[2]];
  return { line, nbytes, count: null, dtype: null, redop: null, root: null, halves: [null, half] };
}

function rateOf(cell, line) {
  const number = cell.endsWith("GBps") ? printed(cell.slice(0, -4)) : null;
  if (!number) throw unreadable(`a bandwidth reads like 1.44GBps, got ${repr(cell)}`, line);
  return number;
}
