// From one line of NCCL_DEBUG=INFO to a row, a function a kind of line. See helpers/nccl/output/logs/debug_makers.py.

import { textRepr } from "../python/spelled.mjs";
import { length } from "../python/texts.mjs";
import { whole } from "../python/whole.mjs";
import { comms, member, nodes, nranksOf, told } from "./comms.mjs";
import { Torn, chosen, connection, nvls, ringLine, setting, treeLine } from "./rows.mjs";
import { ALGORITHMS, PROTOCOLS } from "./shapes.mjs";

const CUT_RANKS = 20; // of a ring line before 2.23
const CUT_TREES = 1023; // characters of a tree line, in every version
const TREE = /\[(\d+)\] (-?\d+)\/(-?\d+)\/(-?\d+)->(\d+)->(-?\d+)/gu;
const LISTS = ["versions", "rings", "trees", "connections", "choices", "settings", "nvls", "networks", "plugins"];

/** What has been read so far. dotted: lines of rings that end in "..."; chunks, warnings: by line. */
export function noRows() {
  const lists = Object.fromEntries(LISTS.map((name) => [name, []]));
  return { ...lists, comms: comms(), dotted: new Set(), chunks: new Map(), warnings: new Map() };
}

function ring(rows, number, origin, found) {
  const all = found.ranks.trim().split(/ +/).map(Number);
  const ranks = found.cut ? all.slice(0, -1) : all;
  const [channel, channels] = [+found.channel, +found.channels];
  if (channel >= channels || new Set(ranks).size < ranks.length || !ranks.length) {
    throw new Torn(`no ring of channel ${channel} of ${channels}: a rank twice, or no such channel`);
  }
  const nranks = nranksOf(rows.comms, origin);
  const short = Boolean(found.cut) || (ranks.length === CUT_RANKS && nranks !== CUT_RANKS);
  const highest = ranks.reduce((most, rank) => Math.max(most, rank));
  if (!short && nranks === null && highest >= ranks.length) {
    throw new Torn(`${ranks.length} ranks in a ring, and rank ${highest} among them`);
  }
  told(rows.comms, number, origin, false);
  if (found.cut) rows.dotted.add(number);
  rows.rings.push(ringLine(number, channel, channels, ranks, !short));
}

function trees(rows, number, origin, found, text) {
  const cut = length(text) >= CUT_TREES;
  const pieces = Array.from(found.trees.matchAll(TREE), (piece) => piece.slice(1).map((digits) => +digits + 0));
  const places = (cut ? pieces.slice(0, -1) : pieces).map(([channel, one, two, three, rank, up]) => {
    return { channel, down: [one, two, three], rank, up };
  });
  if (found.rest && !cut) throw new Torn(`a tree line goes on with ${textRepr(found.rest)}`);
  if (places.some(({ channel }, at) => channel !== at) || new Set(places.map(({ rank }) => rank)).size !== 1) {
    throw new Torn("channels out of order, or places of several ranks in one line");
  }
  places.forEach(neighbours);
  told(rows.comms, number, origin, false);
  for (const { channel, down, rank, up } of places) {
    const children = down.filter((child) => child >= 0);
    rows.trees.push(treeLine(number, channel, rank, children, up >= 0 ? up : null));
  }
}

/** A rank's place in a tree, or Torn. */
function neighbours({ down, rank, up }) {
  const near = [...down, up].filter((other) => other >= 0);
  if (Math.min(...down, up) < -1 || near.includes(rank) || new Set(near).size < near.length) {
    throw new Torn(`rank ${rank} is its own neighbour in a tree, or has one twice`);
  }
}

function way(rows, number, origin, found) {
  const [channel, src, dst] = [+found.channel, +found.src, +found.dst];
  if (src === dst) throw new Torn(`a connection of rank ${src} with itself`);
  told(rows.comms, number, origin, true);
  if (found.network === undefined) {
    const how = [found.kind ?? "SHM", found.how ?? "direct"];
    rows.connections.push(connection(number, channel, [src, dst], how));
    return;
  }
  const proxy = found.proxy === undefined ? null : +found.proxy;
  const over = [found.network, +found.nic, found.end, proxy, found.gdr !== undefined];
  rows.connections.push(connection(number, channel, [src, dst], ["NET", ""], over));
}

function choice(rows, number, origin, found, text) {
  const numbered = found.named === undefined;
  const algorithm = numbered ? [...ALGORITHMS.values()][+found.algorithm] : ALGORITHMS.get(found.named);
  const protocol = numbered ? [...PROTOCOLS.values()][+found.protocol] : PROTOCOLS.get(found.proto);
  if (algorithm === undefined || protocol === undefined) {
    throw new Torn(`NCCL has no such algorithm or protocol: ${textRepr(text)}`);
  }
  const channels = found.low ? [+found.low, +found.high] : null;
  if (channels && channels[0] > channels[1]) throw new Torn(`channels from ${channels[0]} to ${channels[1]}`);
  const microseconds = found.time ? Number(found.time) : null;
  const names = [algorithm, protocol];
  rows.choices.push(chosen(number, found.collective ?? null, whole(found.nbytes), names, channels, microseconds));
}

function nvlsComm(rows, number, origin, found) {
  const [each, total] = [BigInt(found.each), BigInt(found.total)];
  if (each === 0n || total % each) throw new Torn(`${total} bytes in all are no multiple of ${each} per rank`);
  rows.nvls.push(nvls(number, origin.device, true, [found.comm, whole(each), whole(total)]));
}

function set(rows, number, origin, found) {
  const dotted = /^(-?\p{Decimal_Number}+)\.$/u.exec(found.value);
  rows.settings.push(setting(number, found.name, dotted ? dotted[1] : found.value));
}

function ignored(rows, number, origin, found, text) {
  rows.settings.push(setting(number, found.name, found.value ?? "", text));
}

/** kind -> (rows, line, origin, what was found by name, the whole text, what was found by number). */
export const MAKERS = {
  version: (rows, number, origin, found, text, groups) => rows.versions.push(groups[1]),
  network: (rows, number, origin, found) => rows.networks.push(found.name),
  plugin: (rows, number, origin, found) => rows.plugins.push(`${found.kind}: ${found.name}`),
  member: (rows, number, origin, found) => member(rows.comms, number, origin, found),
  nodes: (rows, number, origin, found) => nodes(rows.comms, number, origin, found),
  ring,
  trees,
  connection: way,
  chosen: choice,
  nvls: (rows, number, origin, found) => rows.nvls.push(nvls(number, +found.device, found.no === undefined)),
  "nvls comm": nvlsComm,
  chunk: (rows, number, origin, found) => rows.chunks.set(number, whole(found.bytes)),
  set,
  invalid: ignored,
  unused: ignored,
  left: ignored,
};
