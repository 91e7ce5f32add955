// Reads what NCCL writes with NCCL_DEBUG=INFO, as helpers/nccl/output/logs/debug_log.py does: the same fields, the same refusals.

import { compareTexts, rstrip } from "../python/texts.mjs";
import { times } from "../python/whole.mjs";
import { Refused } from "../refused.mjs";
import { finish, reader, readLine } from "./lines.mjs";
import { damagedText } from "./rows.mjs";

/** What the log says, as plain data: the fields of DebugLog; `chunks` and `warnings` are objects by line.
 *
 * Whole numbers above 2^53, which no log that is in order has, are BigInts. strict: the first damaged line is Refused.
 */
export function parseDebugLog(text, strict = false) {
  const read = reader();
  const lines = text.split("\n");
  lines.forEach((line, at) => readLine(read, at + 1, rstrip(line, "\r"), at + 1 < lines.length));
  finish(read);
  if (!read.seen) {
    throw new Refused(`no line of NCCL in these ${lines.length} lines: expected 'host:1:2 [0] NCCL INFO ...'`);
  }
  const damaged = read.damaged.toSorted(byLine);
  if (strict && damaged.length) throw new Refused(damagedText(damaged[0]));
  const { rings, trees, connections, choices, settings, nvls, unread } = read;
  return {
    versions: once(read.versions),
    members: read.comms.members,
    rings,
    trees,
    connections,
    choices,
    settings,
    nvls,
    networks: once(read.networks),
    plugins: once(read.plugins),
    chunks: Object.fromEntries(read.chunks),
    warnings: Object.fromEntries(read.warnings),
    damaged,
    unread,
  };
}

function byLine(one, other) {
  return one.line - other.line || compareTexts(one.text, other.text) || compareTexts(one.why, other.why);
}

function once(values) {
  return [...new Set(values)];
}

/** DebugLog.version: the one version, null where the log does not tell it. Refused where it tells several. */
export function version({ versions }) {
  if (versions.length > 1) {
    throw new Refused(`the log is of several versions of NCCL: ${versions.join(", ")}; take .versions`);
  }
  return versions[0] ?? null;
}

/** DebugLog.took_effect: by name the values that NCCL has read and not refused, each once. */
export function tookEffect({ settings }) {
  const refused = new Set(settings.filter(({ ignored }) => ignored).map(({ name, value }) => `${name} ${value}`));
  const stands = ({ name, value, ignored }) => !ignored && !refused.has(`${name} ${value}`) && !refused.has(`${name} `);
  return byName(settings.filter(stands));
}

/** DebugLog.ignored: by name why NCCL has not taken what was set, in its own words. */
export function ignoredSettings({ settings }) {
  return byName(settings.filter(({ ignored }) => ignored));
}

function byName(settings) {
  const found = new Map(settings.map(({ name }) => [name, new Set()]));
  for (const { name, value, ignored } of settings) found.get(name).add(ignored || value);
  return Object.fromEntries([...found].map(([name, values]) => [name, [...values]]));
}

/** DebugLog.transports(): how many connection lines went by what: {"P2P/IPC": 24, "NET/IB with GDRDMA": 8}. */
export function transports({ connections }) {
  const counts = new Map();
  for (const way of connections.map(transportText)) counts.set(way, (counts.get(way) ?? 0) + 1);
  return Object.fromEntries(counts);
}

/** "P2P/IPC", "SHM/direct/direct", "NET/IB with GDRDMA". */
export function transportText({ transport, how, network, gdrdma }) {
  return network === null ? `${transport}/${how}` : `NET/${network} with${gdrdma ? "" : "out"} GDRDMA`;
}

/** DebugLog.communicators(): of one commId, else of one size, a new communicator where a rank comes again; with `ranks` and `hosts`. */
export function communicators({ members }) {
  const groups = [];
  for (const member of members) {
    const fits = (group) => together(group[0], member) && group.every(({ rank }) => rank !== member.rank);
    const group = groups.find(fits);
    if (group) group.push(member);
    else groups.push([member]);
  }
  return groups.map((group) => {
    const ordered = group.toSorted((one, other) => one.rank - other.rank);
    const hosts = once(ordered.map(({ origin }) => origin.host)).filter((host) => host !== null);
    const { comm_id, nranks } = ordered[0];
    return { comm_id, nranks, members: ordered, ranks: ordered.map(({ rank }) => rank), hosts };
  });
}

function together(one, other) {
  return one.comm_id === other.comm_id && one.nranks === other.nranks;
}

/** Chosen.buffer(nranks): bytes of the larger of a rank's two buffers, whatever version has told the choice. */
export function bufferOf({ collective, nbytes, channels }, nranks) {
  const share = channels !== null && ["AllGather", "ReduceScatter"].includes(collective);
  return share ? times(nbytes, nranks) : nbytes;
}

/** str(log). */
export function logText(log) {
  const counted = Object.entries(transports(log)).map(([way, count]) => `${count} ${way}`);
  const named = log.versions.join(" and ") || "of an unknown version";
  const said = `NCCL ${named}: ${communicators(log).length} communicators, ${counted.join(", ") || "no connections"}`;
  return log.damaged.length ? `${said}; ${log.damaged.length} damaged lines` : said;
}
