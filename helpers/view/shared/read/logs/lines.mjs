// From the lines of NCCL_DEBUG=INFO to rows: one line at a time, each whole or not at all. See helpers/nccl/output/logs/debug_lines.py.

import { rowRepr } from "../python/spelled.mjs";
import { SPACES, rstrip, tail } from "../python/texts.mjs";
import { ofLine } from "./comms.mjs";
import { MAKERS, noRows } from "./makers.mjs";
import { NOBODY, Torn, damaged } from "./rows.mjs";
import { LEVEL, LONGEST_ORIGIN, ORIGIN, SHAPES } from "./shapes.mjs";

const CUT_NUMBERS = 1000; // before 2.23 a ring line has room for three digits a rank
const WORD = "[\\p{L}\\p{N}_]"; // Python's \w of all letters
const DIGIT = "\\p{Decimal_Number}";
// Lines that stand without "NCCL INFO", perhaps behind a launcher's "[1,0]<stdout>:" or "0: ".
const BEFORE = `(?:\\[[${DIGIT},]+\\](?:<std${WORD}+>:)? ?|${DIGIT}+: ?)?[${SPACES}]*`;
const NUMBER = `${DIGIT}+`;
const TOLD =
  `(?:NCCL version ${DIGIT}|Channel ${NUMBER}(?:/${NUMBER})? : ${NUMBER}\\[|Channel ${NUMBER}/${NUMBER} : +${NUMBER} ` +
  `|Trees \\[${NUMBER}\\] -?${DIGIT})[^\\n]*`;
const BARE = new RegExp(`^${BEFORE}(?<told>${TOLD})$`, "u");

/** seen: whether any line was NCCL's; unread: how many of them are of no kind known here. */
export function reader() {
  return { ...noRows(), seen: false, unread: 0, hosts: new Set(), damaged: [] };
}

/** One line of the text. Where two processes wrote into one line, only the last of them has come to its end.
 *
 * ended: NCCL ends every line; the last one of a text that does not may be cut in the middle of a number.
 */
export function readLine(into, number, text, ended) {
  const levels = [...text.matchAll(LEVEL)];
  if (!levels.length) {
    const bare = BARE.exec(text);
    if (!bare) return;
    into.seen = true;
    message(into, number, NOBODY, rstrip(bare.groups.told), ended);
    return;
  }
  into.seen = true;
  for (const [at, { index }] of levels.slice(0, -1).entries()) {
    const torn = text.slice(index, levels[at + 1].index);
    into.damaged.push(damaged(number, torn, "another process has written into this line"));
  }
  const last = levels.at(-1);
  const before = levels.length > 1 ? end(levels.at(-2)) : 0;
  const said = rstrip(text.slice(end(last)));
  if (last.groups.level === "WARN") into.warnings.set(number, said);
  const front = tail(text.slice(before, last.index), LONGEST_ORIGIN);
  message(into, number, originOf(into, front, before > 0), said, ended);
}

function end(found) {
  return found.index + found[0].length;
}

function originOf(into, front, torn) {
  const found = ORIGIN.exec(front);
  if (!found) return NOBODY;
  const { host, pid, thread, device } = found.groups;
  const cut = torn || front.slice(0, found.index).includes(" [");
  return { host: hostOf(into, host, cut), pid: +pid, thread: +thread, device: +device + 0 };
}

/** Behind a torn line the host may have the end of that line before it: "53node7" is node7 where such a host is known. */
function hostOf(into, host, torn) {
  if (!torn) {
    into.hosts.add(host);
    return host;
  }
  const fitting = [...into.hosts].filter((known) => host.endsWith(known));
  return fitting.length ? fitting.reduce((one, other) => (other.length > one.length ? other : one)) : host;
}

function message(into, number, origin, text, ended) {
  const shape = SHAPES.find(({ begins }) => begins.test(text));
  if (!shape) {
    into.unread += 1;
    return;
  }
  try {
    make(into, number, origin, text, ended, shape);
  } catch (error) {
    if (!(error instanceof Torn)) throw error;
    into.damaged.push(damaged(number, text, error.message));
  }
}

function make(into, number, origin, text, ended, { kind, whole }) {
  if (!ended) throw new Torn("the text ends in this line, without a newline");
  const found = whole.exec(text);
  if (!found) throw new Torn(`a line of this kind (${kind}) does not end or go on so`);
  MAKERS[kind](into, number, origin, found.groups ?? {}, text, found);
}

/** Names the communicators of lines that came before theirs, and takes back what does not fit them. */
export function finish(into) {
  into.rings = kept(into, into.rings, "RingLine", (row) => row.ranks.reduce((most, rank) => Math.max(most, rank)));
  into.trees = kept(into, into.trees, "TreeLine", (row) => Math.max(row.rank, row.parent ?? 0, ...row.children));
  into.connections = kept(into, into.connections, "Connection", (row) => Math.max(row.src, row.dst));
}

function kept(into, rows, type, highest) {
  const left = [];
  for (const row of rows) {
    const [comm, nranks] = ofLine(into.comms, row.line);
    if (nranks !== null && highest(row) >= nranks) {
      into.damaged.push(damaged(row.line, rowRepr(type, row), `its communicator has ${nranks} ranks`));
    } else if (nranks !== null && type === "RingLine" && !fits(row, nranks, into.dotted.has(row.line))) {
      into.damaged.push(damaged(row.line, rowRepr(type, row), `not a ring of ${nranks} ranks`));
    } else {
      const full = type === "RingLine" && nranks !== null ? { whole: row.ranks.length === nranks } : {};
      left.push({ ...row, comm, ...full });
    }
  }
  return left;
}

/** Whole, or as short as NCCL itself makes it. */
function fits(ring, nranks, dotted) {
  if (ring.whole || ring.ranks.length >= nranks) return ring.ranks.length === nranks && !dotted;
  return dotted || nranks <= CUT_NUMBERS;
}
