// NCCL's estimate of what the switch adds and multicasts. As _nvls of helpers/nccl/tuning.py, tested equal.
import { nvls } from "./fabric.mjs";
import { ordered } from "./releases.mjs";
import { log2, ringSteps } from "./steps.mjs";

const shareOf = ({ nranks }) => nranks / ringSteps("all_reduce", nranks);

// Inside a node NVLS itself; between nodes its tree, in an all_reduce (NVLS alone needs CollNet).
export function nvlsLines(known, collective, nbytes, fabric, release) {
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
