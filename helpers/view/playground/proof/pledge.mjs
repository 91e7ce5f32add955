// What each collective promises, the same as helpers.collectives.promises, tested equal: who holds a chunk before and after.
import { times } from "../../shared/page/numbers.mjs";

const ROOTED = ["broadcast", "reduce", "scatter", "gather"];
const SHARDED = ["reduce_scatter", "all_gather", "scatter", "gather"]; // chunks belong to ranks
export const byAdding = ({ collective }) => ["all_reduce", "reduce", "reduce_scatter"].includes(collective);
export const isRooted = (collective) => ROOTED.includes(collective);

const all = (s) => times(s.nranks, (r) => r);
const root = (s) => [s.root];
const owner = (s, c) => [Math.floor(c / (s.nchunks / s.nranks))];
const from = (s, c) => [Math.floor(c / s.nranks)];
const to = (s, c) => [c % s.nranks];

// [who holds before, who holds after, whose contributions are inside then]; before, every holder has its own inside.
const WHO = {
  all_reduce: [all, all, all],
  reduce: [all, root, all],
  broadcast: [root, all, root],
  reduce_scatter: [all, owner, all],
  all_gather: [owner, all, owner],
  scatter: [root, owner, root],
  gather: [owner, root, owner],
  all_to_all: [from, to, from],
};
export const COLLECTIVES = Object.keys(WHO);

const bits = (ranks) => ranks.reduce((mask, rank) => mask | (1 << rank), 0);

// -> { before, after }: masks [rank][chunk] with bit o set when origin o is inside; after, -1 where it does not matter.
export function pledge(s) {
  const [holders, getters, inside] = WHO[s.collective];
  const fill = (ranks, none, mask) =>
    times(s.nranks, (rank) => times(s.nchunks, (c) => (ranks(s, c).includes(rank) ? mask(rank, c) : none)));
  return { before: fill(holders, 0, (rank) => 1 << rank), after: fill(getters, -1, (_, c) => bits(inside(s, c))) };
}

// The least that the busiest rank must move, as a fraction of N: [numerator, denominator].
export function least({ collective, nranks: p }) {
  if (collective === "all_reduce") return p % 2 ? [2 * (p - 1), p] : [p - 1, p / 2];
  return ["broadcast", "reduce"].includes(collective) ? [1, 1] : [p - 1, p];
}

// How many chunks a schedule may be cut into here; the first is the usual.
export function chunkCounts({ collective, nranks: p }) {
  if (collective === "all_to_all") return [p * p];
  if (SHARDED.includes(collective)) return [p, 2 * p];
  const usual = collective === "all_reduce" ? p : 1;
  return [usual, ...[...new Set([...times(p, (i) => i + 1), 2 * p, 16])].filter((n) => n !== usual)];
}

// Why chunks or root do not fit the collective, as the proof says it; null when they do.
export function unfit({ collective: name, nranks, nchunks, root: at }) {
  if (!Object.hasOwn(WHO, name)) return `unknown collective '${name}': expected one of ${COLLECTIVES.join(", ")}`;
  if (isRooted(name) !== (at !== null))
    return `${name} ${isRooted(name) ? "needs" : "takes no"} root, got root=${at ?? "None"}`;
  if (name === "all_to_all" && nchunks !== nranks * nranks)
    return `all_to_all needs nranks * nranks = ${nranks * nranks} chunks, got nchunks=${nchunks}`;
  if (SHARDED.includes(name) && nchunks % nranks)
    return `${name} needs nchunks to be a multiple of nranks=${nranks}, got nchunks=${nchunks}`;
  return null;
}
