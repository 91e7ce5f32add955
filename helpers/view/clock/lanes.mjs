// One message under each protocol: what it takes, and what its receiver can read meanwhile. As lanes.py and widget.py, tested equal.
import { count, nbytesText, secondsText } from "../shared/page/numbers.mjs";

const STAIRS = 8; // so many slices are stops of the clock one by one
export const GRAINS = [3, 28]; // the slider's ends, as powers of two

export const listed = (words) => words.join(", ").replace(/, (?=[^,]*$)/, " and ");

// The first whole nanosecond by which it is over.
export const moment = (seconds) => Math.ceil(Math.floor(seconds * 1e12 + 0.5) / 1e3);

export const known = (links, protocols) => links.filter((one) => one.protocols?.length === protocols.length);

function laneOf({ alpha, bandwidth, call }, { name, line, data, chunk, least }, nbytes) {
  const beta = 1 / bandwidth;
  const most = Math.min(nbytes, chunk);
  const piece = data ?? Math.min(most, Math.max(Math.floor(most / 2), least));
  const start = call + alpha;
  const end = call + (alpha + nbytes * beta);
  const pieces = Math.ceil(nbytes / piece);
  return { name, line, data, nbytes, call, alpha, bandwidth, beta, start, transfer: nbytes * beta, end, piece, pieces };
}

export const lanesOf = (link, protocols, nbytes) => protocols.map((one, i) => laneOf(link.protocols[i], one, nbytes));

export function readable({ nbytes, start, end, bandwidth, piece }, at) {
  if (at >= moment(end)) return nbytes;
  const passed = (at * 1e-9 - start) * bandwidth;
  return Math.min(nbytes, Math.max(0, Math.floor(passed / piece + 1e-6) * piece));
}

// Seconds after which each of the first so many pieces is readable.
export const pieceEnds = ({ start, beta, nbytes, piece }, many) =>
  Array.from({ length: many }, (_, i) => start + Math.min(nbytes, (i + 1) * piece) * beta);

// Where the clock stops, in nanoseconds: at the end of a call, of a first piece, of each of a few slices, of a message.
export function stops(lanes) {
  const few = ({ line, pieces }) => (line === null && pieces <= STAIRS ? pieces : 1);
  const all = lanes.flatMap((lane) => [lane.call, ...pieceEnds(lane, few(lane)), lane.end].map(moment));
  return [...new Set([0, ...all])].toSorted((a, b) => a - b);
}

// The sizes at which the next protocol takes over.
export const crossings = (lanes) =>
  lanes
    .slice(1)
    .map((fast, i) => (fast.call + fast.alpha - lanes[i].call - lanes[i].alpha) / (lanes[i].beta - fast.beta));

const ranked = (lanes) => lanes.toSorted((a, b) => a.end - b.end);
export const firstOf = (lanes) => ranked(lanes)[0];

// Which lane ends first, and why, beside the second.
export function verdict(lanes, link) {
  const [first, second] = ranked(lanes);
  const [early, longer] = [second.start - first.start, first.transfer - second.transfer];
  const [by, take] = [secondsText(Math.abs(early)), secondsText(Math.abs(longer))];
  const begun = `Its bytes begin ${by} ${early >= 0 ? "before" : "after"} those of ${second.name}`;
  const more = longer < 1e-9 ? "less than 1 ns" : `only ${take}`;
  const kept = longer > 0 ? `${more} longer` : `${take} less`;
  const why = early < 0 ? `${begun}, but take ${take} less` : `${begun} and take ${kept}`;
  const size = nbytesText(first.nbytes);
  return `${size} over ${link.name}: ${first.name} is first, after ${secondsText(first.end)}. ${why}.`;
}

function amount(lane, at) {
  const got = readable(lane, at);
  if (!got) return "nothing yet";
  if (got === lane.nbytes) return "all";
  const text = nbytesText(got);
  return text === nbytesText(lane.nbytes) ? `almost ${text}` : text;
}

// What the receiver can read at a time.
export function reading(lanes, at) {
  const got = Map.groupBy(lanes, (lane) => amount(lane, at));
  const parts = [...got].map(([text, some]) => `${text} by ${listed(some.map(({ name }) => name))}`);
  return `Of ${nbytesText(lanes[0].nbytes)}, GPU B can read at ${secondsText(at * 1e-9)}: ${parts.join(", ")}.`;
}

// In what pieces it comes, and by what the receiver knows that one is there.
export function told({ line, piece, pieces }) {
  const isSlice = line === null;
  const words = count(pieces, isSlice ? "slice" : "line").replace(/^\d+/, pieces.toLocaleString("en-US"));
  const each = pieces > 1 ? "each " : "";
  const by = isSlice ? "counter and fence" : "flag";
  return `${words} of ${isSlice ? nbytesText(piece) : `${line} B`}, ${each}told by ${by}`;
}
