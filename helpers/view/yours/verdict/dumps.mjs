// The verdict on dumps of torch's flight recorder: who waits for whom. As helpers/yours/dumps.py.
import { absent, completed, disagreements, pending, recordText, unmet } from "../../shared/read/flights/answers.mjs";
import { textRepr } from "../../shared/read/python/spelled.mjs";
import { cause, verdict } from "./empty.mjs";
import { upperFirst } from "./texts.mjs";

const SHOWN = 8; // ranks by their number
const MOST = 64; // lines of ranks
const NOBODY = "Every rank that left a dump has come to all that the others are in: nobody waits.";

const ranksIn = ({ dumps }) =>
  Object.keys(dumps)
    .map(Number)
    .toSorted((one, other) => one - other);

export function ofDumps(known, record) {
  const ranks = ranksIn(record);
  const what = `the flight recorder's ${ranks.length === 1 ? "dump" : "dumps"} of ${ranksText(ranks)}`;
  const causes = causesOf(known, record, ranks);
  const sentence = causes.length ? `${upperFirst(causes[0].why)}.` : NOBODY;
  return verdict("dumps", { what, sentence, causes, lines: recordText(record).split("\n").slice(0, MOST) });
}

function causesOf(known, record, ranks) {
  const found = [];
  const add = (name, why) => found.push(cause(known, name, why));
  const [waits, differ, gone] = [unmet(record), disagreements(record), absent(record)];
  for (const one of differ) add("ranks disagree", disagree(one));
  for (const one of waits) if (one.missing.length) add("missing rank", missing(record, one));
  if (gone.length) add("no dump", noDump(gone, waits));
  const stuck = ranks.filter((rank) => pending(record, rank).length);
  if (stuck.length && !waits.length && !differ.length) {
    const [{ op, number }] = pending(record, stuck[0]);
    const why = `${ranksText(stuck)} all came to ${op} #${number}, and it is not over`;
    add("all waiting", `${why}: a link, a card or a kernel hangs`);
  }
  return found;
}

function disagree({ group, number, calls }) {
  const said = Object.entries(calls).map(([call, ranks]) => {
    const [, op, what] = /^(\S*) (.*)$/s.exec(call);
    return `${ranksText(ranks)}: ${op}${what ? ` of ${what}` : ""}`;
  });
  return `number ${number} of group ${textRepr(group)} is not the same call everywhere: ${said.join("; ")}`;
}

// Who waits, in which line of the reader's, and what the first that has not come did last.
function missing(record, { group, number, op, entered, missing: gone }) {
  const [wait, has] = [entered.length === 1 ? "waits" : "wait", gone.length === 1 ? "has" : "have"];
  const calls = entered.flatMap((rank) => pending(record, rank));
  const line = calls.find((call) => call.group === group && call.number === number && call.where);
  const last = completed(record, gone[0]);
  const after = last ? `; the last of rank ${gone[0]} is ${last.op} #${last.number}` : "";
  const there = `${ranksText(entered)} ${wait} in ${op} #${number} of group ${textRepr(group)}`;
  return `${there}${line ? `, ${line.where}` : ""}; ${ranksText(gone)} ${has} not come${after}`;
}

// A rank without a dump is not accused: it may have died, or its file was not collected.
function noDump(gone, waits) {
  const waiting = waits.find(({ unknown }) => unknown.length);
  const beside = waiting?.entered.length
    ? `, and ${ranksText(waiting.entered)} wait in ${waiting.op} #${waiting.number}`
    : "";
  return `there is no dump of ${ranksText(gone)}${beside}: dead, or the file was not brought along`;
}

// "nobody", "rank 3", "ranks 0, 1 and 2", "ranks 0, 1, 2 and 5 more"
function ranksText(ranks) {
  if (!ranks.length) return "nobody";
  if (ranks.length === 1) return `rank ${ranks[0]}`;
  const many = ranks.length > SHOWN;
  const shown = ranks.slice(0, many ? SHOWN : -1);
  return `ranks ${shown.join(", ")} and ${many ? `${ranks.length - SHOWN} more` : ranks.at(-1)}`;
}
