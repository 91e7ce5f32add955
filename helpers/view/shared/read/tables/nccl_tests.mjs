// Reads what nccl-tests prints: every column layout since 2.4, prefixes of MPI and of containers, JSON (-J).
// It says what helpers/nccl/output/tables/nccl_tests.py says, word for word: tests/view/test_read_tables_equal.py.
import { cleaned, spaced } from "./cleaned.mjs";
import { areKnownUnits, columnsOf, isTimed, namesOf, readRow } from "./columns.mjs";
import { unreadable } from "./errors.mjs";
import { WORD } from "./fits.mjs";
import { Facts } from "./header.mjs";
import { payloads } from "./payloads.mjs";
import { printed } from "./printed.mjs";
import { report } from "./report.mjs";
import { Rows } from "./tables.mjs";
import { repr, words } from "./text.mjs";

const AVERAGE = /^Avg bus bandwidth\s*:\s*(\S+)(?: (?:OK|FAILED|GB\/s))?$/;
const OUTSIDE = /^Out of bounds values\s*:\s*(\d{1,15}) (OK|FAILED)$/;
const LEFT_OUT = /^[[(<]?(?:\.{2,}|…|snip|\.\.\. ?snip ?\.\.\.)[\])>]?$/;
const VERSIONS = "nccl-tests version";
const BEGINS = [VERSIONS, "Collective test starting", "nThread"];
const ENDS = ["Avg bus bandwidth", "Out of bounds"];
const NOISE = "NCCL INFO";

// The one table of a text; refused where there is none, where there are several (`ncclTestsTables`), or what is wrong with it.
export function parseNcclTests(text) {
  const found = ncclTestsTables(text);
  if (found.length > 1) {
    const begin = found.map(({ line }) => line).join(", ");
    throw unreadable(`${found.length} tables, which begin in lines ${begin}: nccl_tests_tables(text) gives them all`);
  }
  return found[0];
}

// Every table of a text, in order; at least one, else the text is refused.
export function ncclTestsTables(text) {
  if (typeof text !== "string") throw unreadable(`the output of nccl-tests is text, got ${typeof text}`);
  const plain = spaced(text);
  if (plain.trimStart().startsWith("{")) return [report(plain)];
  const lines = cleaned(plain);
  const found = [...new Reader().read(lines), ...payloads(lines)].sort((one, other) => one.line - other.line);
  if (!found.length) {
    throw unreadable("this is no output of nccl-tests: no line with size, time, algbw and busbw was found");
  }
  return found;
}

// Line by line: what stands before a table, its rows, what stands below them.
class Reader {
  facts = new Facts();
  open = null; // rows and columns
  done = [];

  read(lines) {
    let place = "";
    for (const line of lines) {
      const said = line.text.trim().replace(/^#+/, "").trim();
      const columns = columnsOf(said, line);
      if (columns) this.begin(columns, place, line);
      else if (BEGINS.some((begin) => said.startsWith(begin))) this.header(line, said);
      else if (!(this.open && this.below(this.open, line, said))) this.outside(line, said);
      if (said.includes("place")) place = said;
    }
    this.end();
    return this.done;
  }

  begin(columns, place, line) {
    if (columns.halves === 2 && /^in-place.*out-of-place/.test(place)) {
      throw unreadable("in-place stands before out-of-place: nccl-tests has them the other way round", line);
    }
    this.end();
    this.open = { rows: new Rows(line, namesOf(columns), this.facts, isTimed(columns)), columns };
  }

  header(line, said) {
    this.end();
    if (said.startsWith(VERSIONS)) this.facts = new Facts();
    this.facts.take(line, said);
  }

  // What was open is a table; what is said from here on belongs to the next.
  end() {
    if (!this.open) return;
    this.done.push(this.open.rows.table());
    [this.open, this.facts] = [null, new Facts()];
  }

  // Whether a line belongs to the open table.
  below({ rows, columns }, line, said) {
    if (isRow(line)) rows.add(readRow(columns, line));
    else if (AVERAGE.test(said)) {
      rows.mean(averageOf(AVERAGE.exec(said)[1], line), line);
      this.end();
    } else if (OUTSIDE.test(said)) {
      const [, count, word] = OUTSIDE.exec(said);
      rows.bounds(Number(count), word, line);
    } else if (ENDS.some((begin) => said.startsWith(begin))) {
      throw unreadable("this should read like: Avg bus bandwidth : 98.414, or Out of bounds values : 0 OK", line);
    } else if (LEFT_OUT.test(said)) rows.elided = true;
    else if (!areKnownUnits(said, line) && isDamaged(line)) {
      throw unreadable("this looks like a row, but does not begin with a size, or ends too soon", line);
    } else return said.includes(NOISE);
    return true;
  }

  outside(line, said) {
    if (isRow(line) && words(line.text).some((token) => Object.hasOwn(WORD, token))) {
      const names = "size count type redop root time algbw busbw ...";
      throw unreadable(`a row, but no line above names its columns: ${names}`, line);
    }
    this.facts.take(line, said);
  }
}

function isRow({ text }) {
  const tokens = words(text);
  return tokens.length >= 4 && isWhole(tokens[0]) && !text.includes(NOISE);
}

// A line that is no row and has the beginning of one, or six numbers.
function isDamaged({ text }) {
  const tokens = words(text);
  const begins = tokens.length > 0 && tokens.length < 4 && tokens.slice(0, 2).every(isWhole);
  return !tokens.includes("NCCL") && (begins || tokens.filter(printed).length >= 6);
}

const isWhole = (token) => /^\d+$/.test(token.replaceAll("_", ""));

function averageOf(text, line) {
  const number = printed(text);
  if (!number) throw unreadable(`the average is a number, got ${repr(text)}`, line);
  return number;
}
