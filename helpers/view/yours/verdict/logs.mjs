// The verdict on a log of NCCL_DEBUG=INFO: which way the bytes go, what was set, ignored, or is missing. As helpers/yours/logs.py.
import { ignoredSettings, logText, tookEffect, transports } from "../../shared/read/logs/log.mjs";
import { cause, verdict } from "./empty.mjs";
import { byText, nbytesText } from "./texts.mjs";

const LONGEST = 160; // characters of a warning

const CLEAN = " Nothing in it accuses the machine.";
const LITTLE = " That is too little to judge a machine by.";

const sorted = (object) => Object.entries(object).toSorted(([one], [other]) => byText(one, other));

export function ofLog(known, log) {
  const ways = Object.entries(transports(log)).map(([way, count]) => `${count} ${way}`);
  const none = "It tells of no connection: was it cut, or NCCL_DEBUG_SUBSYS set?";
  const channels = Math.max(0, ...log.rings.map((ring) => ring.channels));
  const causes = causesOf(known, log);
  const accused = causes.find(({ accuses }) => accuses);
  const sentence = [
    ways.length ? `Connections: ${ways.join(", ")}.` : none,
    channels ? ` ${channels} channels.` : "",
    settingsText(log),
    accused ? ` Look first at: ${accused.name}.` : ways.length ? CLEAN : LITTLE,
  ];
  return verdict("log", { what: `a log of ${logText(log)}`, sentence: sentence.join(""), causes, lines: choices(log) });
}

// What NCCL took, from the smallest to the largest call that the log tells of, in the order of the first.
function choices(log) {
  const sizes = new Map();
  for (const { collective, algorithm, protocol, nbytes } of log.choices) {
    const call = `${collective ?? "calls"}: ${algorithm}/${protocol}`;
    sizes.set(call, [...(sizes.get(call) ?? []), Number(nbytes)]);
  }
  return [...sizes].map(
    ([call, told]) => `${call} from ${nbytesText(Math.min(...told))} to ${nbytesText(Math.max(...told))}`,
  );
}

function settingsText(log) {
  const taken = sorted(tookEffect(log)).map(([name, values]) => `${name}=${values.join("/")}`);
  const ignored = sorted(ignoredSettings(log)).map(([name]) => name);
  const first = taken.length ? ` Taken: ${taken.join(", ")}.` : " No setting is told.";
  return first + (ignored.length ? ` Ignored: ${ignored.join(", ")}.` : "");
}

function causesOf(known, log) {
  const found = [];
  const add = (name, why, accuses = null) => found.push(cause(known, name, why, { accuses }));
  truncated(log, add);
  paths(log, add);
  cards(known, log, add);
  set(known, log, add);
  for (const [name, [said]] of sorted(ignoredSettings(log)))
    add("ignored setting", `${name} had no effect, in NCCL's words: ${said}`);
  const warnings = Object.entries(log.warnings).toSorted(([one], [other]) => one - other);
  for (const [line, said] of warnings.slice(0, 1)) {
    const more = warnings.length > 1 ? `; ${warnings.length - 1} more` : "";
    add("warning", `line ${line} warns: ${[...said].slice(0, LONGEST).join("")}${more}`);
  }
  return found;
}

// A communicator that began and was never complete: what would have followed is not here.
function truncated({ members, damaged }, add) {
  const open = members.filter(({ complete }) => !complete).map(({ rank }) => rank);
  if (!open.length) return;
  const ranks = [...new Set(open)].toSorted((one, other) => one - other);
  const shown = ranks.slice(0, 8).join(", ") + (ranks.length > 8 ? ", ..." : "");
  const cut = damaged.length ? `; line ${damaged.at(-1).line} does not hold together` : "";
  const why = `no 'Init COMPLETE' of rank ${shown}: the log was cut, or these ranks never came so far`;
  add("truncated log", why + cut);
}

// The longer ways, worst first.
function paths(log, add) {
  const ways = Object.entries(transports(log));
  const count = (is) => ways.reduce((sum, [way, n]) => (is(way) ? sum + n : sum), 0);
  const total = count(() => true);
  const sockets = count((way) => way.startsWith("NET/Socket"));
  const staged = count((way) => way.startsWith("NET/") && way.endsWith("without GDRDMA"));
  const shared = count((way) => way.startsWith("SHM"));
  const of = (n) => `${n} of ${total} connections go`;
  if (sockets) add("wrong path", `${of(sockets)} by sockets, through the processor and its kernel`);
  else if (staged)
    add("wrong path", `${of(staged)} by the network without GPUDirect RDMA: staged in memory of the host`);
  if (shared) add("wrong path", `${of(shared)} through memory of the host (SHM), not from GPU to GPU`);
}

// One card for a whole node.
function cards({ logs }, { connections, members }, add) {
  const used = new Set(connections.filter(({ network }) => network !== null).map(({ nic }) => nic));
  const local = Math.max(0, ...members.map(({ local_ranks }) => local_ranks ?? 0));
  if (used.size !== 1 || local < logs.many) return;
  add("too few NICs", `all connections between nodes go by card ${[...used][0]}, and a node has ${local} ranks`);
}

// Settings that took effect and that cost something.
function set({ logs }, log, add) {
  const taken = tookEffect(log);
  const several = log.members.some(({ nodes }) => (nodes || 1) > 1) || log.connections.some(({ network }) => network);
  for (const [name, [value, why]] of Object.entries(logs.shorter)) {
    if (!taken[name]?.includes(value)) continue;
    add("wrong path", `${name}=${value} took effect: ${why}`, name !== "NCCL_IB_DISABLE" || several);
  }
  for (const name of logs.caps) {
    if (taken[name]) add("few channels", `${name}=${taken[name][0]} took effect: fewer channels than NCCL would take`);
  }
  if (taken.NCCL_NVLS_ENABLE?.includes("0")) add("NVLS off", "NCCL_NVLS_ENABLE=0 took effect: the switch adds nothing");
  else if (log.nvls.some(({ available }) => !available))
    add("NVLS off", "NVLS multicast is not available on some device", false);
  lists(taken, add);
}

// What plain lists leave out is off; a list that begins with ^ names what is off. Lists by collective ("allreduce:ring") tell less.
function lists(taken, add) {
  const leavesOut = (value, name) => names(value).includes(name) === value.startsWith("^");
  for (const value of plain(taken.NCCL_PROTO)) {
    if (leavesOut(value, "ll128")) add("LL128 off", `NCCL_PROTO=${value} took effect: LL128 is left out`);
  }
  for (const value of plain(taken.NCCL_ALGO)) {
    if (leavesOut(value, "nvls")) add("NVLS off", `NCCL_ALGO=${value} took effect: NVLS is left out`);
  }
}

const plain = (values = []) => values.filter((value) => !value.includes(":"));

const names = (value) =>
  value
    .replace(/^\^/, "")
    .split(",")
    .map((name) => name.trim().toLowerCase());
