// A table of nccl-tests: what it says, and how it is put together row by row: helpers/nccl/output/tables/tables.py.
import { nbytesText } from "../../page/numbers.mjs";
import { unreadable } from "./errors.mjs";
import { Fit } from "./fits.mjs";
import { timesTenTo } from "./printed.mjs";
import { general } from "./text.mjs";

const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
const many = (n, one) => (n === 1 ? one : `${one}s`);

// all_reduce over 4 ranks: 28 sizes, 8 B to 1 GiB; NCCL 2.26.2.
export function tableText({ rows, collective, nranks, tests, nccl }) {
  const sizes = rows.map(({ nbytes }) => nbytes);
  const over = nranks === null ? "" : ` over ${nranks} ${many(nranks, "rank")}`;
  const ends = `${nbytesText(Math.min(...sizes))} to ${nbytesText(Math.max(...sizes))}`;
  const versions = `${tests ? `; nccl-tests ${tests}` : ""}${nccl ? `; NCCL ${nccl}` : ""}`;
  return `${collective ?? "a collective"}${over}: ${sizes.length} ${many(sizes.length, "size")}, ${ends}${versions}`;
}

// A table while it is read. wrong: counted out of place; a few versions counted in place what cannot work there.
export class Rows {
  constructor(line, columns, facts, timed = true) {
    Object.assign(this, { line, facts, fit: new Fit(facts.program, facts.nranks, columns, timed) });
    Object.assign(this, { made: [], buses: [], wrong: 0, average: null, outside: null, elided: false });
  }

  add(row) {
    this.fit.take(row);
    const [out_of_place, in_place] = row.halves.map((half) => half && timing(half, this.checked));
    this.buses.push(...row.halves.filter((half) => half).map(({ bus }) => bus));
    this.wrong += row.halves[0]?.wrong ?? 0;
    const root = row.root === -1 ? null : row.root;
    const { nbytes, count, dtype, redop } = row;
    this.made.push({ nbytes, count, dtype, redop, root, out_of_place, in_place, line: row.line.number });
  }

  // Whether results were validated: with -c 0, versions from 2.13 on print 0 wrong all the same.
  get checked() {
    return this.facts.settings?.validation !== 0;
  }

  // The line of values out of bounds has to agree with itself, and none with rows that count wrong elements.
  bounds(count, word, line) {
    if ((count === 0) !== (word === "OK") || (count === 0 && this.wrong)) {
      throw unreadable(
        `${count} values out of bounds, ${word}, while the rows count ${general(this.wrong)} wrong`,
        line,
      );
    }
    this.outside = this.checked ? count : null;
  }

  // The average has to be that of the rows, unless some are left out or several threads ran, which may differ.
  mean(number, line) {
    this.average = number;
    const { buses } = this;
    if (this.elided || (this.facts.settings?.nthreads ?? 1) > 1 || !buses.length) return;
    const [low, high] = [sum(buses.map((bus) => bus.low)), sum(buses.map((bus) => bus.high))].map(
      (all) => all / buses.length,
    );
    if (high >= number.low && low <= number.high) return;
    const said = `between ${general(low)} and ${general(high)}, but this line says ${number.text}`;
    throw unreadable(
      `the mean busbw of the ${this.made.length} rows above is ${said}: rows are missing or changed`,
      line,
    );
  }

  table() {
    if (!this.made.length) throw unreadable("no row follows the names of the columns", this.line);
    const { facts, fit, average } = this;
    return {
      rows: this.made,
      collective: fit.collective() ?? this.commanded(),
      nranks: facts.nranks ?? fit.ranks(),
      devices: [...facts.devices.values()].map(([device]) => device),
      settings: facts.settings,
      tests: facts.tests,
      nccl: facts.nccl,
      average_busbw: average && timesTenTo(average, 9),
      out_of_bounds: this.outside,
      elided: this.elided,
      line: this.line.number,
    };
  }

  // The one program of the command line, where it is among those that the numbers leave.
  commanded() {
    const [told = null, ...others] = this.facts.commands;
    return !others.length && this.fit.open.some(({ kind }) => kind.name === told) ? told : null;
  }
}

// One half of a row, in seconds and bytes per second.
function timing({ time, alg, bus, wrong, error }, checked) {
  const seconds = time && timesTenTo(time, -6);
  const found = checked ? { wrong, error } : { wrong: null, error: null };
  return { seconds, algbw: timesTenTo(alg, 9), busbw: timesTenTo(bus, 9), ...found };
}
