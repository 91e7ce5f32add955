// Ranks on the axes of a mesh, and what is said of them. As axes.py, tested equal.
import { count, times } from "../shared/page/numbers.mjs";

export const NAMES = ["pipeline", "data", "shard", "tensor"];
export const ALL = [...NAMES, "expert"];
export const MOST = 64;
export const NODES = [1, 2, 4, 8];
const SHOWN = 8;
const COLLECTIVES = {
  pipeline: "sends and receives of activations and their gradients between neighbouring stages",
  data: "all_reduces of gradients, or a reduce_scatter and an all_gather (ZeRO-1)",
  shard: "all_gathers of parameters and reduce_scatters of gradients",
  tensor: "all_reduces of activations",
  expert: "all_to_alls of tokens, there and back",
};
export const CALLS = {
  pipeline: "send, recv",
  data: "all_reduce",
  shard: "all_gather, reduce_scatter",
  tensor: "all_reduce",
  expert: "all_to_all",
};

const product = (axes) => axes.reduce((all, [, size]) => all * size, 1);
export const nranksOf = ({ axes }) => product(axes);
export const nodesOf = (s) => Math.ceil(nranksOf(s) / s.gpus);
export const sizeOf = ({ axes, expert }, axis) =>
  axis === "expert" ? expert : axes.find(([name]) => name === axis)[1];

// Where a rank lies on every axis: { name: place }, the outermost first.
export function coordinates({ axes }, rank) {
  let rest = rank;
  const found = axes.toReversed().map(([name, size]) => {
    const at = rest % size;
    rest = (rest - at) / size;
    return [name, at];
  });
  return Object.fromEntries(found.toReversed());
}

// The groups of an axis, by their first ranks.
export function groups(s, axis) {
  const within = axis === "expert" ? ["data", "shard"] : [axis];
  const found = new Map();
  for (const rank of times(nranksOf(s), (i) => i)) {
    const at = coordinates(s, rank);
    const key = s.axes.map(([name]) => (within.includes(name) ? "" : at[name])).join(",");
    found.set(key, [...(found.get(key) ?? []), rank]);
  }
  const size = sizeOf(s, axis);
  const cut = [...found.values()].flatMap((ranks) =>
    times(ranks.length / size, (i) => ranks.slice(i * size, (i + 1) * size)),
  );
  return cut.toSorted((a, b) => a[0] - b[0]);
}

export const groupOf = (s, axis, rank) => groups(s, axis).find((ranks) => ranks.includes(rank));

export const nodesIn = ({ gpus }, ranks) => new Set(ranks.map((rank) => Math.floor(rank / gpus))).size;

export const crossing = (s, axis) => groups(s, axis).filter((ranks) => nodesIn(s, ranks) > 1).length;

function tooMany(axes) {
  const nranks = product(axes);
  const words = axes.flatMap(([name, size]) => (size > 1 ? [`${name} ${size}`] : [])).join(" × ");
  const most = axes.reduce((a, b) => (b[1] > a[1] ? b : a));
  const fits = Math.floor(MOST / (nranks / most[1]));
  const advice = fits ? `${most[0]} may be at most ${fits}` : "make two of them smaller";
  return `${words} are ${nranks} ranks, and ${MOST} can be drawn: with the others as they are, ${advice}.`;
}

// Why such a mesh is not drawn, and what would be; "" where it is.
export function refusal({ axes, expert }) {
  if (product(axes) > MOST) return tooMany(axes);
  const spread = product(axes.filter(([name]) => name === "data" || name === "shard"));
  if (spread % expert === 0) return "";
  const fitting = times(spread, (i) => i + 1).filter((n) => spread % n === 0);
  const one = `expert is one of ${fitting.join(", ")}, not ${expert}.`;
  return `Experts are spread over the data ranks, data × shard = ${spread}: ${one}`;
}

function peers(ranks) {
  const more = ranks.length - SHOWN;
  return more > 0 ? `${ranks.slice(0, SHOWN).join(", ")} and ${more} more` : ranks.join(", ");
}

export function toldMesh(s) {
  const axes = s.axes.flatMap(([name, size]) => (size > 1 ? [`${name} ${size}`] : []));
  const order = axes.length > 1 ? ", from the outermost axis to the innermost" : "";
  const named = axes.length ? `: ${axes.join(" × ")}${order}` : "";
  return `${count(nranksOf(s), "rank")} on ${count(nodesOf(s), "node")} of ${s.gpus}${named}.`;
}

// Whether the groups stay in their nodes.
export function where(all, cross) {
  if (all === 1) return cross ? "which crosses between nodes" : "inside a node";
  if (!cross) return "each inside a node";
  const some = cross === all ? "all of them cross" : cross > 1 ? `${cross} of them cross` : "one of them crosses";
  return `${some} between nodes`;
}

export function toldAxis(s) {
  if (!s.axis) return "";
  const size = sizeOf(s, s.axis);
  if (size === 1) return `On ${s.axis} every rank is alone: nothing is sent.`;
  const all = groups(s, s.axis).length;
  const many = `${count(all, "group")} of ${size}`;
  return `On ${s.axis} run ${COLLECTIVES[s.axis]}, in ${many}, ${where(all, crossing(s, s.axis))}.`;
}

export function toldRank(s) {
  if (s.rank === null) return "";
  const names = [...s.axes.map(([name]) => name), "expert"].filter((name) => sizeOf(s, name) > 1);
  if (!names.length) return `Rank ${s.rank} is alone.`;
  const at = coordinates(s, s.rank);
  const place = names.flatMap((name) => (name in at ? [`${name} ${at[name]}`] : [])).join(", ");
  const met = names.map((name) => `${peers(groupOf(s, name, s.rank).filter((one) => one !== s.rank))} on ${name}`);
  return `Rank ${s.rank} is ${place}; it talks to ${met.join("; ")}.`;
}

export const words = (s) => [toldMesh(s), toldAxis(s), toldRank(s)].filter(Boolean).join(" ");
