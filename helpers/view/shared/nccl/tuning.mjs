// NCCL's own estimate of every algorithm and protocol, from which it chooses. As helpers/nccl/tuning.py, tested equal.
import { channelsOf, ring, tree } from "./fabric.mjs";
import { ValueError, repr } from "./refused.mjs";
import { log2, ringSteps } from "./steps.mjs";
import { nvlsLines } from "./switched.mjs";

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
