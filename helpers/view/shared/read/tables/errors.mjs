// What a reader says of a text that it cannot read: Unreadable of helpers/nccl/output/tables/errors.py.
import { Refused } from "../refused.mjs";
import { words } from "./text.mjs";

const LONGEST = 160;

// An error to throw. line: the one that is to blame, or null; the error has its number.
export function unreadable(what, line = null) {
  const said = line ? `${line.name} ${line.number}: ${what}; it reads: ${cut(words(line.written).join(" "))}` : what;
  return Object.assign(new Refused(said), { line: line?.number ?? null });
}

function cut(text) {
  const letters = [...text];
  return letters.length <= LONGEST ? text : `${letters.slice(0, LONGEST).join("")} ...`;
}
