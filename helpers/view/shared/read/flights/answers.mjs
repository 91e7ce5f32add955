// What the dumps of all ranks say together: who is where, who is missing, who does something else.
// The methods of FlightRecord in helpers/nccl/output/flights/flight_recorder.py, as functions of what parseFlightRecorder gives.

import { listRepr, textRepr, tupleRepr } from "../python/spelled.mjs";
import { compareTexts } from "../python/texts.mjs";
import { whole } from "../python/whole.mjs";
import { isPending, operationText } from "./entries.mjs";

const SAME_SIZE = [
  "all_reduce",
  "allreduce",
  "broadcast",
  "reduce",
  "_all_gather_base",
  "_reduce_scatter_base",
  "all_reduce_barrier",
];

function ranksOf({ dumps }) {
  return Object.keys(dumps).map(Number);
}

/** FlightRecord.absent: ranks of some group of which there is no dump. */
export function absent({ dumps, groups }) {
  const ranks = new Set(Object.values(groups).flat());
  return [...ranks].filter((rank) => !Object.hasOwn(dumps, rank)).sort((one, other) => one - other);
}

/** FlightRecord.completed(rank): the last operation of this rank that is over, null where none is. */
export function completed({ dumps }, rank) {
  return dumps[rank].operations.findLast((one) => !isPending(one)) ?? null;
}

/** FlightRecord.pending(rank): what this rank has handed over and what is not over, oldest first. */
export function pending({ dumps }, rank) {
  return dumps[rank].operations.filter(isPending);
}

/** FlightRecord.unmet(): the collectives that are pending somewhere and that not all ranks of their group have entered for certain. */
export function unmet(record) {
  const waiting = new Map();
  const newest = newestOf(record);
  for (const one of ranksOf(record).flatMap((rank) => pending(record, rank))) {
    if (!one.p2p) waiting.set(`${one.number} ${one.group}`, one);
  }
  return [...waiting.values()]
    .sort(byCall)
    .map((one) => sides(record, newest, one))
    .filter(({ missing, unknown }) => missing.length || unknown.length);
}

function byCall(one, other) {
  return compareTexts(one.group, other.group) || (one.number < other.number ? -1 : Number(one.number > other.number));
}

function sides(record, newest, { group, number, op }) {
  const [entered, missing, unknown] = [[], [], []];
  for (const rank of members(record, group)) {
    const has = cameTo(record, newest, rank, group, number);
    (has === null ? unknown : has ? entered : missing).push(rank);
  }
  return { group, number, op, entered, missing, unknown };
}

/** FlightRecord.members(group): the group's ranks; where no dump tells them, the ranks that have been in it. */
export function members({ dumps, groups }, group) {
  if (Object.hasOwn(groups, group)) return groups[group];
  const been = Object.entries(dumps).filter(([, dump]) => dump.operations.some((one) => one.group === group));
  return been.map(([rank]) => Number(rank));
}

/** By rank and group the highest number of a collective: the recorder keeps the newest, and numbers rise within a group. */
function newestOf({ dumps }) {
  const newest = new Map();
  for (const [rank, { operations }] of Object.entries(dumps)) {
    const own = new Map(operations.filter(({ p2p }) => !p2p).map(({ group, number }) => [group, number]));
    newest.set(Number(rank), own);
  }
  return newest;
}

/** FlightRecord.entered(rank, group, number): has this rank handed over that collective? null where it is not certain. */
function cameTo({ dumps }, newest, rank, group, number) {
  if (!Object.hasOwn(dumps, rank)) return null;
  const last = newest.get(rank).get(group);
  if (last !== undefined) return last >= number;
  return dumps[rank].whole ? false : null;
}

/** FlightRecord.disagreements(): collectives of one number that are not the same on all ranks: another operation, size or type.
 *
 * calls: the ranks by what they do, "all_reduce Float[4]"; no name of an operation has a space in it.
 */
export function disagreements(record) {
  const calls = new Map();
  for (const rank of ranksOf(record)) {
    for (const one of record.dumps[rank].operations) {
      if (!one.p2p && one.op !== "coalesced") called(calls, rank, one);
    }
  }
  const differing = [...calls.values()].filter(({ same }) => differ([...same.keys()])).sort(byCall);
  return differing.map(({ group, number, same }) => ({ group, number, calls: Object.fromEntries(same) }));
}

function called(calls, rank, one) {
  const { group, number } = one;
  const key = `${number} ${group}`;
  if (!calls.has(key)) calls.set(key, { group, number, same: new Map() });
  const { same } = calls.get(key);
  const call = `${one.op} ${agreed(one)}`;
  if (!same.has(call)) same.set(call, []);
  same.get(call).push(rank);
}

/** "all_reduce Float[4]" as its two parts. */
function parts(call) {
  const at = call.indexOf(" ");
  return [call.slice(0, at), call.slice(at + 1)];
}

function differ(calls) {
  const [ops, kinds] = [0, 1].map((side) => new Set(calls.map((call) => parts(call)[side])));
  kinds.delete("");
  return ops.size > 1 || kinds.size > 1;
}

/** What must be equal on all ranks, "" where sizes may differ or nobody can tell: "Float[4]", "Float[8] in 2 tensors". */
export function agreed({ op, sizes, dtypes }) {
  if (!SAME_SIZE.includes(op) || !sizes.length) return "";
  const elements = sizes.map((size) => size.reduce((product, extent) => product * BigInt(extent), 1n));
  const count = whole(elements.reduce((sum, one) => sum + one, 0n));
  return `${[...new Set(dtypes)].join("+")}[${count}]${sizes.length > 1 ? ` in ${sizes.length} tensors` : ""}`;
}

/** str(record). */
export function recordText(record) {
  const missed = unmet(record).filter(({ missing }) => missing.length);
  return [
    ...ranksOf(record).map((rank) => `rank ${rank}: ${doing(record, rank)}`),
    ...absent(record).map((rank) => `rank ${rank}: no dump`),
    ...missed.map((one) => {
      return `${one.op} #${one.number} of group ${textRepr(one.group)}: without ranks ${listRepr(one.missing)}`;
    }),
    ...disagreements(record).map(({ group, number, calls }) => {
      const told = Object.entries(calls).map(([call, ranks]) => `${tupleRepr(parts(call))}: ${tupleRepr(ranks)}`);
      return `#${number} of group ${textRepr(group)} is not the same everywhere: {${told.join(", ")}}`;
    }),
  ].join("\n");
}

function doing(record, rank) {
  const [waiting, done] = [pending(record, rank), completed(record, rank)];
  if (!waiting.length) return done ? `in no operation, after ${done.op} #${done.number}` : "in no operation";
  const more = waiting.length > 1 ? `, and ${waiting.length - 1} more behind it` : "";
  return `in ${operationText(waiting[0])}${more}`;
}
