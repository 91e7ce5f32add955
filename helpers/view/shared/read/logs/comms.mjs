// Which communicator a line of NCCL_DEBUG=INFO belongs to: the one its thread is making just then.
// As helpers/nccl/output/logs/debug_comms.py has it.

import { Torn, commRank } from "./rows.mjs";

/** making: thread -> a place in members; waiting: lines whose communicator has not been named yet; lines: line -> place; done: threads. */
export function comms() {
  return { members: [], making: new Map(), waiting: new Map(), lines: new Map(), done: new Set() };
}

/** "Init START" and "Init COMPLETE"; the lines of a communicator's end say nothing new. */
export function member(into, number, origin, found) {
  const row = commRank(number, origin, found.comm, +found.rank, +found.nranks, found.id ?? null);
  if (row.rank >= row.nranks) throw new Torn(`rank ${row.rank} of ${row.nranks}`);
  if (!["Init START", "Init COMPLETE"].includes(found.what)) return;
  const place = placed(into, origin, row);
  if (found.what === "Init COMPLETE") {
    into.members[place] = { ...into.members[place], complete: true };
    into.making.delete(threadOf(origin));
    into.done.add(threadOf(origin));
  }
}

/** "comm 0x... rank 8 nRanks 16 nNodes 2 localRanks 8 localRank 0". */
export function nodes(into, number, origin, found) {
  const [count, local_ranks, local_rank] = [+found.nodes, +found.locals, +found.local];
  const row = commRank(number, origin, found.comm, +found.rank, +found.nranks);
  if (row.rank >= row.nranks || local_rank >= local_ranks) {
    throw new Torn(`rank ${row.rank} of ${row.nranks}, and ${local_rank} of ${local_ranks} on its node`);
  }
  if (count < 1 || local_ranks + count - 1 > row.nranks) {
    throw new Torn(`${local_ranks} ranks on one of ${count} nodes, and ${row.nranks} in all`);
  }
  const place = placed(into, origin, row);
  into.members[place] = { ...into.members[place], nodes: count, local_ranks, local_rank };
}

/** A ring, a tree or a connection was told here. later: such lines also come when the communicator stands already. */
export function told(into, number, origin, later) {
  const thread = threadOf(origin);
  if (into.making.has(thread)) into.lines.set(number, into.making.get(thread));
  else if (origin.host !== null && !(later && into.done.has(thread))) {
    if (!into.waiting.has(thread)) into.waiting.set(thread, []);
    into.waiting.get(thread).push(number);
  }
}

/** Ranks of the communicator that this thread is making, null where none has been told. */
export function nranksOf(into, origin) {
  return into.members[into.making.get(threadOf(origin))]?.nranks ?? null;
}

/** The communicator of a line and its size, nulls where it belongs to none. */
export function ofLine(into, line) {
  const known = into.members[into.lines.get(line)];
  return known ? [known.comm, known.nranks] : [null, null];
}

/** Where this communicator stands in `members`: the one that its thread is making, else a new one. */
function placed(into, origin, row) {
  const thread = threadOf(origin);
  const place = into.making.get(thread);
  if (place !== undefined && into.members[place].comm === row.comm) {
    agree(into, place, row);
    return place;
  }
  const made = into.members.push(row) - 1;
  into.making.set(thread, made);
  for (const line of into.waiting.get(thread) ?? []) into.lines.set(line, made);
  into.waiting.delete(thread);
  return made;
}

function agree(into, place, row) {
  const known = into.members[place];
  const ids = new Set([known.comm_id, row.comm_id].filter((id) => id !== null));
  if (known.rank !== row.rank || known.nranks !== row.nranks || ids.size > 1) {
    const id = known.comm_id ?? "None";
    throw new Torn(`line ${known.line} says otherwise: rank ${known.rank} of ${known.nranks}, commId ${id}`);
  }
  into.members[place] = { ...known, comm_id: known.comm_id ?? row.comm_id };
}

/** A host has no space in it, so no two threads have one name. */
function threadOf({ host, pid, thread }) {
  return `${host} ${pid} ${thread}`;
}
