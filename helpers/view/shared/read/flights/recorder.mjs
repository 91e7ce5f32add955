// The dumps of torch's flight recorder from all ranks, read as helpers/nccl/output/flights/flight_recorder.py reads them.

import { typeName } from "../pickle/data.mjs";
import { textRepr, tupleRepr } from "../python/spelled.mjs";
import { Refused } from "../refused.mjs";
import { MOST_RANKS, shown } from "./checks.mjs";
import { readDump } from "./entries.mjs";

/** The dumps of all ranks: a Map or an object by rank, or an array in their order; each a pickle's bytes, or JSON as text or bytes.
 *
 * -> {dumps, groups}, both plain objects: a dump by rank, the ranks of a group by its name. Numbers above 2^53 are BigInts.
 * Refused names the rank and the entry of what does not hold together. A rank whose dump is missing is told by `absent` of answers.mjs.
 */
export function parseFlightRecorder(byRank) {
  if (typeof byRank !== "object" || byRank === null || byRank instanceof Uint8Array) {
    throw new Refused(`expected {rank: dump} or a list of dumps, got ${typeName(byRank)}`);
  }
  const given = (byRank instanceof Map ? [...byRank] : Object.entries(byRank)).map(([rank, dump]) => [
    ranked(rank),
    dump,
  ]);
  if (!given.length || !given.every(([rank]) => Number.isInteger(rank) && rank >= 0 && rank < MOST_RANKS)) {
    const names = given.slice(0, 8).map(([rank]) => (Number.isInteger(rank) ? String(rank) : shown(rank)));
    throw new Refused(`expected dumps by rank, got ${names.join(", ") || "none"}`);
  }
  given.sort(([one], [other]) => one - other);
  const read = given.map(([rank, source]) => [rank, readDump(source, rank)]);
  const dumps = read.map(([rank, dump]) => [rank, { ...dump, groups: Object.fromEntries(dump.groups) }]);
  return { dumps: Object.fromEntries(dumps), groups: groupsOf(read) };
}

/** An object's keys are texts: "0" is rank 0. */
function ranked(key) {
  return typeof key === "string" && /^-?\d{1,15}$/.test(key) ? Number(key) : key;
}

/** Gloo writes its group's ranks under no name: they are those of the one group that there is, if there is one. */
function groupsOf(read) {
  const found = new Map();
  const unnamed = new Map();
  for (const [rank, { groups }] of read) {
    for (const [name, ranks] of groups) {
      if (!found.has(name)) found.set(name, ranks);
      if (name === "") unnamed.set(String(ranks), ranks);
      else if (String(found.get(name)) !== String(ranks)) {
        const elsewhere = tupleRepr(found.get(name));
        throw new Refused(
          `rank ${rank}: group ${textRepr(name)} has ranks ${tupleRepr(ranks)}, elsewhere ${elsewhere}`,
        );
      }
    }
  }
  found.delete("");
  const named = new Set(read.flatMap(([, { operations }]) => operations.map(({ group }) => group)));
  if (unnamed.size === 1 && named.size === 1 && !found.has([...named][0])) {
    found.set([...named][0], [...unnamed.values()][0]);
  }
  return Object.fromEntries(found);
}
