// PyTorch's memory snapshots, the file of torch.cuda.memory._dump_snapshot, read as data: helpers/memory/snapshot/reading.py in the page.

import { truth } from "../pickle/data.mjs";
import { NotPlain } from "../pickle/errors.mjs";
import { readPickle } from "../pickle/pickle.mjs";
import { whole } from "../python/whole.mjs";
import { Refused } from "../refused.mjs";
import { HIGHEST, LARGEST, MOST_DEVICES, aDict, aList, checkText, checkWhole, notTooMany } from "./checks.mjs";

const MOST_BLOCKS = 1 << 22;
const MOST_ENTRIES = 1 << 24;
const MARKS = ["oom", "snapshot"]; // actions that have no address

/** A snapshot as plain data, from the bytes of its file, a Uint8Array.
 *
 * -> segments_: of all devices, in the file's order, each {device, address, size, pool, expandable, blocks}, its blocks {address, size,
 * state, requested}; device_traces: by device the history, each entry {action, addr, size, time_us}, null what it does not tell.
 * An address above 2^53 is a BigInt. Refused, in Python's words, for what is no snapshot and for a pickle that names anything but data.
 */
export function readSnapshot(bytes) {
  const told = loaded(bytes);
  const data = Array.isArray(told) ? new Map([["segments", told]]) : told;
  if (!(data instanceof Map) || !data.has("segments")) {
    throw new Refused("a snapshot is a dict with 'segments' (and 'device_traces'), or a list of segments");
  }
  const traces = data.has("device_traces") ? data.get("device_traces") : [];
  return { segments_: segmentsIn(data.get("segments")), device_traces: tracesIn(traces) };
}

function loaded(bytes) {
  try {
    return readPickle(bytes);
  } catch (error) {
    if (!(error instanceof NotPlain)) throw error;
    const said = error.message;
    throw new Refused(said.startsWith("not a pickle") ? said : `a memory snapshot ${said}`);
  }
}

function segmentsIn(told) {
  const rows = aList(told, "segments").map((one, place) => aDict(one, `segment ${place}`));
  const blocks = rows.map((row, place) => aList(row.get("blocks") ?? null, `segment ${place}: blocks`));
  notTooMany(blocks, "blocks", MOST_BLOCKS);
  return rows.map((row, place) => {
    const about = `segment ${place}`;
    checkWhole(row, "address", about, HIGHEST);
    checkWhole(row, "total_size", about, LARGEST);
    checkText(row, "segment_type", about);
    checkWhole(row, "device", about, MOST_DEVICES, true);
    blocks[place].forEach((block, number) => checkBlock(block, `${about}, block ${number}`));
    return segmentOf(row, blocks[place]);
  });
}

function checkBlock(block, about) {
  const row = aDict(block, about);
  checkWhole(row, "size", about, LARGEST);
  checkText(row, "state", about);
  checkWhole(row, "address", about, HIGHEST, true);
  checkWhole(row, "requested_size", about, LARGEST, true);
}

/** A segment as torch wrote it. Older snapshots give no address per block: blocks stand side by side. */
function segmentOf(row, blocks) {
  const made = [];
  let at = row.get("address");
  for (const block of blocks) {
    const [size, state] = [block.get("size"), block.get("state")];
    const requested = state === "inactive" ? 0n : (block.get("requested_size") ?? size);
    made.push({ address: whole(block.get("address") ?? at), size: Number(size), state, requested: Number(requested) });
    at += size;
  }
  const place = { device: Number(row.get("device") ?? 0n), address: whole(row.get("address")) };
  const kind = { pool: row.get("segment_type"), expandable: truth(row.get("is_expandable") ?? false) };
  return { ...place, size: Number(row.get("total_size")), ...kind, blocks: made };
}

function tracesIn(told) {
  const traces = aList(told, "device_traces").map((one, place) => aList(one, `device_traces[${place}]`));
  notTooMany(traces, "entries", MOST_ENTRIES);
  return traces.map((entries, device) => {
    return entries.map((one, place) => entryOf(one, `device ${device}, entry ${place}`));
  });
}

function entryOf(one, about) {
  const entry = aDict(one, about);
  checkWhole(entry, "size", about, LARGEST);
  checkText(entry, "action", about);
  checkWhole(entry, "addr", about, HIGHEST, MARKS.includes(entry.get("action")));
  checkWhole(entry, "time_us", about, HIGHEST, true);
  const [addr, time_us] = ["addr", "time_us"].map((name) => (entry.has(name) ? whole(entry.get(name)) : null));
  return { action: entry.get("action"), addr, size: Number(entry.get("size")), time_us };
}

/** The devices that have segments, in order. */
export function devices({ segments_ }) {
  return [...new Set(segments_.map(({ device }) => device))].sort((one, other) => one - other);
}

/** Snapshot.segments(device): by address. */
export function segments({ segments_ }, device = 0) {
  const own = segments_.filter((segment) => segment.device === device);
  return own.sort((one, other) => (one.address < other.address ? -1 : Number(one.address > other.address)));
}

/** Segment.allocated: bytes of blocks that hold a tensor. */
export function allocated({ blocks }) {
  return blocks.reduce((sum, { state, size }) => (state === "inactive" ? sum : sum + size), 0);
}

/** Snapshot.entries(device): the history of one device, oldest first. */
export function entries({ device_traces }, device = 0) {
  return device_traces[device] ?? [];
}
