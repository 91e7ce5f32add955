// What the lines of NCCL_DEBUG=INFO say, a row a kind of line: the fields of helpers/nccl/output/logs/debug_rows.py, in their order.

import { head } from "../python/texts.mjs";
import { textRepr } from "../python/spelled.mjs";

/** A line that does not hold together, and why. */
export class Torn extends Error {}

/** Who wrote the line; null throughout where the text has only what follows "NCCL INFO". */
export const NOBODY = { host: null, pid: null, thread: null, device: null };

export function commRank(line, origin, comm, rank, nranks, comm_id = null) {
  const place = { nodes: null, local_ranks: null, local_rank: null };
  return { line, origin, comm, rank, nranks, comm_id, ...place, complete: false };
}

export function ringLine(line, channel, channels, ranks, whole) {
  return { line, comm: null, channel, channels, ranks, whole };
}

export function treeLine(line, channel, rank, children, parent) {
  return { line, comm: null, channel, rank, children, parent };
}

/** over: null between GPUs of one node, else the network's name, the card, the end, the rank whose card it is, and GDRDMA. */
export function connection(line, channel, [src, dst], [transport, how], over = null) {
  const [network, nic, end, proxy, gdrdma] = over ?? [null, null, null, null, null];
  return { line, comm: null, channel, src, dst, transport, how, network, nic, end, proxy, gdrdma };
}

export function chosen(line, collective, nbytes, [algorithm, protocol], channels, microseconds) {
  return { line, collective, nbytes, algorithm, protocol, channels, microseconds };
}

export function setting(line, name, value, ignored = "") {
  return { line, name, value, ignored };
}

export function nvls(line, device, available, [comm, per_rank, total] = [null, null, null]) {
  return { line, device, available, comm, per_rank, total };
}

export function damaged(line, text, why) {
  return { line, text, why };
}

/** str(damaged). */
export function damagedText({ line, text, why }) {
  return `line ${line}: ${why}: ${textRepr(head(text, 160))}`;
}
