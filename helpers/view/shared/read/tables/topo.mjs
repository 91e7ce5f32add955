// Reads `nvidia-smi topo -m`: which way joins two GPUs, or a GPU and a network card: helpers/nccl/output/tables/topo.py.
import { cleaned } from "./cleaned.mjs";
import { unreadable } from "./errors.mjs";
import { bestRing, hopsOf } from "./rings.mjs";
import { repr, words } from "./text.mjs";

export const WORDS = {
  SYS: "through PCIe and between CPU sockets",
  NODE: "through PCIe and between host bridges of one NUMA node",
  PHB: "through PCIe and one host bridge, as a rule the CPU",
  PXB: "through several PCIe bridges, no host bridge",
  PIX: "through one PCIe bridge at most",
};
const ORDER = Object.keys(WORDS); // worst first; NVLinks come behind them, the more the better
const LINKS = /^NV([1-9]\d?)$/;
const DEVICE = /^[A-Za-z]\w*\d$/;
const GPU = /^GPU\d+$/;
const NUMBERED = /^NIC\d+$/;
const NIC = /^(NIC\d+): *(\S+)$/;
const SPANS = /^(?:\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*|N\/A)$/;
const CPUS = "CPU Affinity";
const COLUMNS = [CPUS, "NUMA Affinity", "GPU NUMA ID"];

// Every pair of a list, in its order.
const pairs = (list) => list.flatMap((one, at) => list.slice(at + 1).map((other) => [one, other]));

// The GPUs of a topology, in the matrix's order.
export const gpusOf = ({ devices }) => devices.filter((device) => GPU.test(device));

// The word between two devices; refused for one that the matrix does not have.
export function wayOf({ devices, ways }, one, other) {
  for (const device of [one, other]) {
    if (!devices.includes(device)) throw unreadable(`the devices are ${devices.join(", ")}, got ${repr(device)}`);
  }
  return one === other ? "X" : ways[`${one} ${other}`];
}

// Every pair once as { one, other, way }, of all devices or of these, in order: what a figure draws.
export const edgesOf = (topology, devices = topology.devices) =>
  pairs(devices).map(([one, other]) => ({ one, other, way: wayOf(topology, one, other) }));

// The network cards that are joined best to a GPU.
export function nearestOf(topology, gpu) {
  const cards = Object.keys(topology.nics);
  const ranks = cards.map((nic) => rankOf(wayOf(topology, gpu, nic)));
  return cards.filter((_, at) => ranks[at] === Math.max(...ranks));
}

// A ring over all GPUs with as few hops as possible of the worst kind, then of the next: so its worst hop is the best there is.
export const bestRingOf = (topology) => bestRing(gpusOf(topology), (one, other) => rankOf(wayOf(topology, one, other)));

// The hop that holds a ring up, as an edge, the first of equals; null for a single GPU.
export function worstHopOf(topology, ring) {
  const hops = hopsOf(ring).map(([one, other]) => ({ one, other, way: wayOf(topology, one, other) }));
  return hops.reduce((worst, hop) => (worst && rankOf(worst.way) <= rankOf(hop.way) ? worst : hop), null);
}

// NV18 -> 18, any other word 0.
export const linksOf = (way) => Number(LINKS.exec(way)?.[1] ?? 0);

// The higher, the better.
export const rankOf = (way) => (linksOf(way) ? ORDER.length + linksOf(way) : ORDER.indexOf(way));

// The one matrix of a text, { devices, ways, nics, cpus, numa }; refused where there is none or are several, or for what is wrong with it.
// ways: one word a pair, for both orders of it, by "GPU0 GPU1". nics, cpus, numa: by device, null where nothing is told.
export function parseTopo(text) {
  if (typeof text !== "string") throw unreadable(`the output of nvidia-smi topo -m is text, got ${typeof text}`);
  const lines = cleaned(text);
  const all = lines.map((line, at) => ({ at, devices: devicesOf(line) })).filter(({ devices }) => devices);
  const sure = all.filter(({ at }) => lines[at].text.includes(CPUS));
  const heads = sure.length ? sure : all;
  if (!heads.length) {
    throw unreadable(`this is no output of nvidia-smi topo -m: no line with GPU0 ... ${CPUS} was found`);
  }
  if (heads.length > 1) {
    const begin = heads.map(({ at }) => lines[at].number).join(", ");
    throw unreadable(`${heads.length} matrices, which begin in lines ${begin}: give one at a time`);
  }
  const [{ at, devices }] = heads;
  if (new Set(devices).size !== devices.length) throw unreadable("a device is named twice", lines[at]);
  return topologyOf(devices, lines[at], lines.slice(at + 1));
}

// The devices that a matrix's first line names; null where it is no such line.
function devicesOf({ text }) {
  const tokens = words(text.split(CPUS)[0]);
  const whole = tokens.length > 0 && GPU.test(tokens[0]) && tokens.every((token) => DEVICE.test(token));
  return whole && !tokens.slice(1).some(known) ? tokens : null;
}

function topologyOf(devices, head, lines) {
  const names = COLUMNS.filter((name) => head.text.includes(name));
  if (words(head.text).join(" ") !== [...devices, ...names].join(" ")) {
    throw unreadable(`behind the devices stand ${COLUMNS.join(", ")}, in this order`, head);
  }
  const rows = rowsOf(devices, head, lines);
  const [ways, cpus, numa] = [{}, {}, {}];
  rows.forEach((row, i) => {
    const [device, ...tokens] = words(row.text);
    devices.forEach((other, k) => {
      const way = wordOf(device, other, tokens[k], row);
      if (i !== k) ways[`${device} ${other}`] = way;
    });
    const tail = tailOf(tokens.slice(devices.length), names, row);
    [cpus[device], numa[device]] = COLUMNS.map((name) => tail[name] ?? null);
  });
  sameFromBothSides(devices, ways, rows);
  return { devices, ways, nics: nicsOf(devices, lines), cpus, numa };
}

// A row a device, in order, without a gap.
function rowsOf(devices, head, lines) {
  const found = lines.slice(0, devices.length);
  found.forEach((line, at) => {
    const tokens = words(line.text);
    if (tokens[0] !== devices[at]) throw unreadable(`here the row of ${devices[at]} is missing`, line);
    if (tokens.length <= devices.length) {
      throw unreadable(`a row has ${devices.length} ways behind its device, got ${tokens.length - 1}`, line);
    }
  });
  if (found.length < devices.length) {
    throw unreadable(`the text ends before the row of ${devices[found.length]}`, found.at(-1) ?? head);
  }
  return found;
}

// The word as it is spelled today, SOC being SYS; null for what is none.
function known(word) {
  const today = word === "SOC" ? "SYS" : word;
  return ORDER.includes(today) || linksOf(today) || today === "X" ? today : null;
}

function wordOf(device, other, word, row) {
  const way = known(word);
  if (way === null || (way === "X") !== (device === other)) {
    const wanted = device === other ? "X" : `${ORDER.join(", ")} or NV with a number`;
    throw unreadable(`between ${device} and ${other} stands ${wanted}, got ${repr(word)}`, row);
  }
  return way;
}

// What stands behind the ways; nothing at all for a network card.
function tailOf(tokens, names, row) {
  if (tokens.length && tokens.length !== names.length) {
    throw unreadable(`behind the ways stand ${names.join(", ") || "nothing"}, got ${repr(tokens.join(" "))}`, row);
  }
  tokens.forEach((token, at) => {
    if (!SPANS.test(token)) throw unreadable(`${names[at]} reads like 0-47,96-143, 0 or N/A, got ${repr(token)}`, row);
  });
  return Object.fromEntries(tokens.map((token, at) => [names[at], token === "N/A" ? null : token]));
}

function sameFromBothSides(devices, ways, rows) {
  for (const [one, other] of pairs(devices)) {
    const [there, back] = [ways[`${one} ${other}`], ways[`${other} ${one}`]];
    if (there === back) continue;
    const [first, second] = [rows[devices.indexOf(one)], rows[devices.indexOf(other)]];
    throw unreadable(`${other} to ${one} is ${back}, but line ${first.number} has ${there}`, second);
  }
}

// What each network card is called: by the legend, or by the matrix where that names it.
function nicsOf(devices, lines) {
  const legend = {};
  for (const line of lines) {
    const [, nic, name] = NIC.exec(line.text.trim()) ?? [];
    if (nic && (!devices.includes(nic) || nic in legend)) {
      throw unreadable(`the matrix has no ${nic}, or the legend names it twice`, line);
    }
    if (nic) legend[nic] = name;
  }
  const cards = devices.filter((device) => !GPU.test(device));
  return Object.fromEntries(cards.map((card) => [card, legend[card] ?? (NUMBERED.test(card) ? null : card)]));
}
