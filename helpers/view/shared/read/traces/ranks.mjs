// Traces of several ranks: who waited for whom, without a common clock. See helpers/nccl/output/traces/kineto_ranks.py.

import { compareTexts } from "../python/texts.mjs";
import { whole } from "../python/whole.mjs";
import { Refused } from "../refused.mjs";
import { compare, total, union } from "./intervals.mjs";

const ALONE = ["send", "recv", "send_recv", "barrier"];

/** {traces, held, unmatched}: traces a Map by rank, in order. spans of what is held: a Map by rank, of BigInts. */
export function together(traces) {
  const byRank = new Map();
  for (const trace of traces) {
    const { rank } = trace;
    if (rank === null || byRank.has(rank)) {
      throw new Refused(`a trace of rank ${rank ?? "None"}: expected one of each rank, with distributedInfo`);
    }
    byRank.set(rank, trace);
  }
  const sorted = new Map([...byRank].sort(([one], [other]) => compare(one, other)));
  const sizes = [...sorted].map(([rank, { world_size: size }]) => `${rank}: ${size ?? "None"}`);
  if (new Set([...sorted.values()].map(({ world_size: size }) => size)).size > 1) {
    throw new Refused(`traces of worlds of different sizes: {${sizes.join(", ")}}`);
  }
  return { traces: sorted, ...heldBy(sorted) };
}

function heldBy(traces) {
  const [held, unmatched] = [[], []];
  for (const { group, op, ranks } of callsOf(traces).values()) {
    const matched = numbered(ranks) ?? ordered(ranks);
    for (const [number, same] of matched) if (same.size > 1) held.push(heldOf(group, op, number, same));
    if (!matched.size && traces.size > 1) unmatched.push([group, op]);
  }
  return { held: held.sort(byCall), unmatched };
}

function callsOf(traces) {
  const calls = new Map();
  for (const [rank, { collectives }] of traces) {
    for (const one of collectives.filter(({ op }) => !ALONE.includes(op))) {
      const key = `${one.group === null ? "" : `=${one.group}`}\0${one.op}`;
      if (!calls.has(key)) calls.set(key, { group: one.group, op: one.op, ranks: new Map() });
      const { ranks } = calls.get(key);
      if (!ranks.has(rank)) ranks.set(rank, []);
      ranks.get(rank).push(one);
    }
  }
  return calls;
}

const byCall = (one, other) =>
  compareTexts(one.group ?? "", other.group ?? "") ||
  compareTexts(one.op, other.op) ||
  compare(one.number, other.number);

/** By sequence number, null where some call has none or two of a rank have the same. */
function numbered(ranks) {
  const found = new Map();
  for (const [rank, calls] of ranks) {
    for (const one of calls) {
      if (one.number === null || found.get(one.number)?.has(rank)) return null;
      if (!found.has(one.number)) found.set(one.number, new Map());
      found.get(one.number).set(rank, one);
    }
  }
  return found;
}

/** In their order, nothing where some rank has more or fewer. */
function ordered(ranks) {
  const lists = [...ranks.values()];
  if (new Set(lists.map(({ length }) => length)).size !== 1) return new Map();
  return new Map(lists[0].map((_, at) => [at, new Map([...ranks].map(([rank, calls]) => [rank, calls[at]]))]));
}

function heldOf(group, op, number, same) {
  const starts = new Map([...same].map(([rank, { start }]) => [rank, BigInt(start)]));
  const spans = new Map([...same].map(([rank, { start, end }]) => [rank, BigInt(end) - BigInt(start)]));
  const [last, cost] = [...spans].reduce((one, other) => (before(other, one) ? other : one));
  const sizes = new Set([...same.values()].map(({ nbytes }) => nbytes));
  return { group, number, op, nbytes: sizes.size === 1 ? [...sizes][0] : null, starts, spans, cost, last };
}

const before = ([rank, span], [other, its]) => span < its || (span === its && rank < other);

// From its own coming to that of the last.
const waits = ({ starts, spans, cost }, rank) => [starts.get(rank), starts.get(rank) + spans.get(rank) - cost];

/** Nanoseconds in which a collective of this rank waited for another; of two at once, each is counted once. */
export const waited = ({ held }, rank) =>
  total(union(held.filter(({ spans }) => spans.has(rank)).map((one) => waits(one, rank))));

/** Nanoseconds that the others waited because this rank was last, all of them together. */
export function caused({ traces, held }, rank) {
  const because = { held: held.filter(({ last }) => last === rank) };
  return [...traces.keys()].reduce((made, other) => made + waited(because, other), 0n);
}

/** In how many collectives it came last. */
export const timesLast = ({ held }, rank) => held.filter(({ last }) => last === rank).length;

/** held as Python has it: numbers by rank. */
export const heldPlainly = ({ held }) =>
  held.map(({ starts, spans, cost, ...one }) => ({
    ...one,
    starts: Object.fromEntries([...starts].map(([rank, start]) => [rank, whole(start)])),
    spans: Object.fromEntries([...spans].map(([rank, span]) => [rank, whole(span)])),
    cost: whole(cost),
  }));
