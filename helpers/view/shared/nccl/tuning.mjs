// NCCL's own estimate of every algorithm and protocol, from which it chooses; of what the switch adds and multicasts as _nvls has it.
// As helpers/nccl/tuning.py, tested equal.
import { channelsOf, nvls, ring, tree } from "./fabric.mjs";
import { repr, ValueError } from "./refused.mjs";
import { ordered } from "./releases.mjs";

// Steps of a ring, as NCCL counts them; those of a rooted collective run through a pipeline.
export const ringSteps = (collective, nranks) =>
  ({ all_reduce: 2 * (nranks - 1), all_gather: nranks - 1, reduce_scatter: nranks - 1 })[collective] ?? nranks;

const log2 = (count) => Math.trunc(Math.log2(count));

const scaleOf = ({ nodes }) => Math.min(nodes, 3) - 1;

const speedOf = ({ channels, inside, between }, { nodes }) => channels * (nodes <= 2 ? inside : between);

// Every candidate that NCCL considers, in its order: { algorithm, protocol, latency, bandwidth }, seconds and bytes per second.
export function costs(known, collective, nbytes, fabric, release) {
  const { collectives } = known.model;
  if (!collectives.includes(collective))
    throw new ValueError(`NCCL chooses for ${collectives.join(", ")}; got ${repr(collective)}`);
  const asked = [known, collective, nbytes, fabric, release];
  return [...trees(...asked), ...rings(...asked), ...nvlsLines(...asked), ...pat(...asked)]
    .filter((line) => line.at(-1) > 0)
    .map(([algorithm, protocol, latency, bandwidth]) => ({
      algorithm,
      protocol,
      latency: latency * 1e-6,
      bandwidth: bandwidth * 1e9,
    }));
}

// What LL reaches over all channels; between nodes NCCL's table is that of the processors.
function llMax({ model }, fabric, release) {
  if (fabric.nodes === 1) return release.ll_max[fabric.generation];
  return (model.ll_max_network[fabric.cpu] ?? model.ll_max_network.Intel)[scaleOf(fabric)];
}

// Microseconds of one step inside a node and between nodes. With one GPU a node nothing hides the network: the tree's.
function hops({ model }, algorithm, index, fabric) {
  const between = model.hop.network[fabric.gpus === 1 ? "Tree" : algorithm][index];
  return [model.hop.NVLink[algorithm][index], between];
}

function rings(known, collective, nbytes, fabric, release) {
  const { model } = known;
  const [graph, steps] = [ring(known, fabric, release), ringSteps(collective, fabric.nranks)];
  const total = speedOf(graph, fabric);
  const capped = graph.channels * release.ring_ll128[fabric.generation][scaleOf(fabric)];
  const bandwidths = [Math.min(llMax(known, fabric, release), total / 2), Math.min(0.92 * total, capped), total];
  return model.protocol_order.map((protocol, index) => {
    const plain = model.base.Ring[index] + ringLatency(known, collective, index, fabric, steps);
    const more = fabric.generation === "Volta" ? 1.9 : 1.4;
    const late = protocol === "Simple" && plateau(known, collective, nbytes, fabric, release);
    return ["Ring", protocol, late ? plain * more : plain, (bandwidths[index] * fabric.nranks) / steps];
  });
}

function plateau(known, collective, nbytes, fabric, release) {
  const share = Math.floor(nbytes / (channelsOf(known, fabric, release) * fabric.nranks));
  return collective === "all_reduce" && fabric.nodes > 1 && share >= 64;
}

function ringLatency(known, collective, index, fabric, steps) {
  const { model } = known;
  const [inside, between] = hops(known, "Ring", index, fabric);
  // One hop where all channels visit the GPUs in one order, as behind a switch.
  if (model.rooted.includes(collective)) return fabric.nodes === 1 ? inside : model.hop.network.Ring[index];
  if (fabric.nodes === 1) return steps * inside;
  const crossing = (fabric.nodes - 1) * (collective === "all_reduce" ? 2 : 1);
  const least = (fabric.cpu === "AMD" ? 2 : 1) * (index === 2 ? 3 : 1);
  return (steps - crossing) * Math.max(inside, least) + crossing * between;
}

// A chain inside a node, a double binary tree between nodes: up and down again.
function trees(known, collective, nbytes, fabric, release) {
  if (collective !== "all_reduce") return [];
  const { model, protocols } = known;
  const [graph, column] = [tree(known, fabric, release), scaleOf(fabric)];
  const most = (caps) => graph.channels * caps[fabric.generation][column];
  const total = Math.min(0.92 * speedOf(graph, fabric), most(release.tree));
  const share = fabric.nodes === 1 ? 7 / 9 : protocols.LL128.efficiency;
  const ll128 = Math.min(total * share, most(release.tree_ll128));
  return [Math.min(total / 3.8, llMax(known, fabric, release)), ll128, total].map((bandwidth, index) => {
    const [inside, between] = hops(known, "Tree", index, fabric);
    const latency = model.base.Tree[index] + 2 * ((fabric.gpus - 1) * inside + log2(fabric.nodes) * between);
    const protocol = model.protocol_order[index];
    return ["Tree", protocol, latency, (bandwidth / 2) * treeFactor(model, protocol, nbytes)];
  });
}

function treeFactor({ tree_factors: factors }, protocol, nbytes) {
  if (nbytes < 64) return 1;
  // Digits in base two are exact, where a logarithm may round up.
  const place = Math.floor(nbytes / 64).toString(2).length - 1;
  return factors[protocol][place] ?? 1;
}

// Only with one GPU a node.
function pat(known, collective, nbytes, fabric, release) {
  const { model } = known;
  if (!model.gathers.includes(collective) || fabric.gpus !== 1) return [];
  const hop = (log2(fabric.nodes) * model.hop.network.Tree[2]) / 3.5;
  const latency = release.pat_base + hop + model.pat_per_rank * fabric.nranks;
  return [["PAT", "Simple", latency, speedOf(ring(known, fabric, release), fabric) * release.pat_share]];
}

const shareOf = ({ nranks }) => nranks / ringSteps("all_reduce", nranks);

// Inside a node NVLS itself; between nodes its tree, in an all_reduce (NVLS alone needs CollNet).
function nvlsLines(known, collective, nbytes, fabric, release) {
  const { model, search } = known;
  const graph = nvls(known, fabric, release);
  const gathers = fabric.nodes === 1 && fabric.gpus <= search.most_heads;
  if (!graph || model.rooted.includes(collective) || (model.gathers.includes(collective) && !gathers)) return [];
  if (fabric.nodes === 1) return [["NVLS", "Simple", model.nvls_latency, inNode(collective, graph, fabric, release)]];
  const latency = model.nvls_latency + 2 * log2(fabric.nodes) * release.nvls_tree_hop;
  return [["NVLSTree", "Simple", latency, overNodes(graph, fabric, release)]];
}

// Of nbytes. Up to 2.27 the slower of the two speeds, five sixths of it; from 2.28 on an efficiency by generation.
function inNode(collective, graph, fabric, release) {
  const [heads, others] = [graph.channels, (fabric.gpus - 1) / fabric.gpus];
  const slower = Math.min(graph.inside, graph.between);
  if (!release.nvls_efficiency) {
    if (collective === "all_reduce") return (heads * slower * 5) / 6;
    if (ordered(release.number, [2, 27]) < 0) return heads * slower;
    return heads * Math.min(graph.inside * others, 0.9 * graph.between);
  }
  const inside = graph.inside * release.nvls_efficiency[fabric.generation] * others;
  if (collective === "all_reduce") return heads * Math.min(2 * inside, graph.between) * shareOf(fabric);
  return heads * Math.min(inside * others, graph.between);
}

function overNodes(graph, fabric, release) {
  const few = fabric.nodes <= 2;
  if (!release.nvls_efficiency || !release.nvls_tree)
    return (graph.channels * Math.min(graph.inside, graph.between / (few ? 1 : 2)) * 5) / 6;
  const others = (graph.channels - 1) / graph.channels;
  const inside = 2 * graph.inside * release.nvls_efficiency[fabric.generation] * others;
  const cap = release.nvls_tree[fabric.generation][Math.min(fabric.nodes, 3) - 1];
  return graph.channels * Math.min(inside, graph.between * (few ? 2 : 1), cap) * shareOf(fabric);
}
