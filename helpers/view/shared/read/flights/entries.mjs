// One dump of torch's flight recorder as operations: every field looked at, and none believed that contradicts another.
// As helpers/nccl/output/flights/flight_entries.py has it, which names the versions of torch that were read.

import { truth } from "../pickle/data.mjs";
import { listRepr, textRepr } from "../python/spelled.mjs";
import { head } from "../python/texts.mjs";
import { Refused } from "../refused.mjs";
import { aDict, aList, aSize, aWhole, isDict, notTooMuch, shown, someRanks, someTexts } from "./checks.mjs";
import { dataOf } from "./sources.mjs";

const STATES = ["scheduled", "started", "completed"];
const NAME = /^(\w+):(\w+)(?: (\d{1,7})(->|<-)(\d{1,7}))?$/;

/** A dump's version, operations, groups (a Map, in the dump's order) and whether it is whole. Refused names the rank. */
export function readDump(source, rank) {
  try {
    return dump(dataOf(source));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new Refused(`rank ${rank}: ${error.message}`);
  }
}

function dump(data) {
  const config = aDict(data.get("pg_config"), "pg_config");
  const entries = aList(field(data, "entries", []), "entries");
  notTooMuch(config, entries);
  const groups = groupsOf(config);
  const operations = entries.map((entry, place) => operation(aDict(entry, `entry ${place}`), place));
  const records = operations.map(({ record }) => record);
  if (records.some((record, at) => at && record <= records[at - 1])) {
    throw new Refused(`record_id does not rise: ${listRepr(records.slice(0, 8))}`);
  }
  inOrder(operations);
  const [version] = someTexts([data.get("version")], "version");
  return { version, operations, groups, whole: records.every((record, at) => record === at) };
}

/** Gloo has one nameless entry for all its groups, and empties it when a second group is made (torch 2.13): then nobody knows. */
function groupsOf(config) {
  const named = [...config].map(([key, about]) => [nameOf(key), about]);
  const known = named.filter(([name, about]) => !(name === "" && isDict(about) && about.get("ranks") === "[]"));
  return new Map(known.map(([name, about]) => [name, someRanks(name, about)]));
}

/** The text that a key was, null where it was none: see keyOf in ../pickle/data.mjs. */
function nameOf(key) {
  if (typeof key !== "string" || !key.startsWith("\0")) return typeof key === "string" ? key : null;
  return key.startsWith("\0t") ? key.slice(2) : null;
}

/** dict.get(name, otherwise). */
function field(data, name, otherwise = null) {
  return data.has(name) ? data.get(name) : otherwise;
}

/** Numbers rise within a group; a coalesced group of sends and receives has one number. */
function inOrder(operations) {
  const last = new Map();
  for (const { record, group, number, p2p } of operations) {
    const key = `${p2p} ${group}`;
    if (number < (last.get(key) ?? 0)) {
      throw new Refused(`record ${record}: number ${number} of group ${textRepr(group)} after ${last.get(key)}`);
    }
    last.set(key, number);
  }
}

function operation(entry, place) {
  const told = (name) => aWhole(field(entry, name), `entry ${place}: ${name}`);
  const name = field(entry, "profiling_name");
  const found = typeof name === "string" ? NAME.exec(name) : null;
  if (!found) {
    throw new Refused(`entry ${place}: profiling_name ${shown(name)}, expected such as 'nccl:all_reduce'`);
  }
  const [, backend, op, , arrow, other] = found;
  const p2p = truth(field(entry, "is_p2p", arrow !== undefined));
  const number = told(p2p ? "p2p_seq_id" : "collective_seq_id");
  const sizes = sizesOf(entry, place);
  const dtypes = someTexts(field(entry, "input_dtypes", []), `entry ${place}: input_dtypes`);
  if (sizes.length !== dtypes.length) {
    throw new Refused(`entry ${place}: ${sizes.length} sizes of inputs and ${dtypes.length} types`);
  }
  const record = told("record_id");
  const call = { group: groupOf(entry, place), number, backend, op, p2p, sends: op === "send" };
  const peer = other === undefined ? null : Number(other);
  const state = stateOf(entry, backend, place);
  return { record, ...call, peer, sizes, dtypes, state, where: whereOf(field(entry, "frames", [])) };
}

/** Gloo has no events to look at: there "retired" says that the operation is over. */
function stateOf(entry, backend, place) {
  const [state, ended] = [field(entry, "state"), field(entry, "time_discovered_completed_ns")];
  if (!STATES.includes(state)) {
    throw new Refused(`entry ${place}: state ${shown(state)}, expected one of ${STATES.join(", ")}`);
  }
  const known = ended === null || typeof ended === "bigint" || typeof ended === "boolean";
  if (truth(ended) !== (state === "completed") || !known) {
    const said = `state ${textRepr(state)}, and time_discovered_completed_ns ${shown(ended)}`;
    throw new Refused(`entry ${place}: ${said}`);
  }
  return backend === "gloo" && entry.get("retired") === true ? "completed" : state;
}

function groupOf(entry, place) {
  const names = field(entry, "process_group");
  if (!Array.isArray(names) || typeof names[0] !== "string") {
    throw new Refused(`entry ${place}: process_group ${shown(names)}, expected a name and a description`);
  }
  return names[0];
}

function sizesOf(entry, place) {
  const about = `entry ${place}: input_sizes`;
  return aList(field(entry, "input_sizes", []), about).map((row) => aSize(row, about));
}

/** "train.py line 12": the first frame outside of torch. */
function whereOf(frames) {
  for (const frame of Array.isArray(frames) ? frames : []) {
    const file = isDict(frame) ? field(frame, "filename") : null;
    if (typeof file === "string" && file.endsWith(".py") && !file.includes("/torch/")) {
      return `${head(file.split("/").at(-1), 80)} line ${shown(field(frame, "line"))}`;
    }
  }
  return "";
}

export function isPending({ state }) {
  return state !== "completed";
}

/** str(operation). */
export function operationText({ op, number, peer, sends, dtypes, sizes, group, state }) {
  const tensors = dtypes.map((kind, at) => `${kind}${listRepr(sizes[at])}`).join(", ");
  const end = peer === null ? "" : ` ${sends ? "to" : "from"} ${peer}`;
  return `${op} #${number}${end}${tensors && ` of ${tensors}`} in group ${textRepr(group)}: ${state}`;
}
