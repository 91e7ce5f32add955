// Seconds that a clock shows: NCCL's formula with reasons put in where it is wrong. As helpers/nccl/corrected.py, tested equal.
import { blockCount, nvlsCut } from "./cut.mjs";
import { nvls, ring, wire } from "./fabric.mjs";
import { ringSteps } from "./tuning.mjs";

// null for what no table covers: rooted collectives, trees, several nodes, NVLS of other than all_reduce.
export function corrected(known, collective, cost, nbytes, fabric, release, launch) {
  if (fabric.nodes > 1 || !known.corrected.covered.includes(collective)) return null;
  if (cost.algorithm === "Ring") return overRing(known, collective, cost, nbytes, fabric, release, launch);
  if (cost.algorithm === "NVLS" && collective === "all_reduce") return overNvls(known, nbytes, fabric, release, launch);
  return null;
}

function overRing(known, collective, cost, nbytes, fabric, release, launch) {
  const { model } = known;
  const [steps, hops] = [ringSteps(collective, fabric.nranks), model.hop.NVLink.Ring];
  const index = model.protocol_order.indexOf(cost.protocol);
  const start = cost.protocol === "Simple" ? model.base.Ring[index] * 1e-6 : 0;
  const wait = (launch.hop * hops[index]) / hops[0];
  const moved = (nbytes / fabric.nranks) * (steps + known.corrected.tail[cost.protocol]);
  return launch.call + start + steps * wait + moved / ringRate(known, cost, nbytes, fabric, release);
}

// Bytes per second that one GPU passes on in a ring on one node, all channels together.
function ringRate(known, cost, nbytes, fabric, release) {
  const { channels, inside } = ring(known, fabric, release);
  const total = channels * inside;
  if (cost.protocol === "Simple") return total * 1e9;
  if (cost.protocol === "LL128")
    return Math.min(0.92 * total, channels * release.ring_ll128[fabric.generation][0]) * 1e9;
  const { row, ll_row: seconds, ll_most: most } = known.corrected;
  const rows = (blockCount(known, cost, nbytes, fabric, release) * row) / seconds;
  return Math.min(rows, most * release.ll_max[fabric.generation] * 1e9);
}

function overNvls(known, nbytes, fabric, release, launch) {
  const { nvls_rate: share, nvls_stage: stage } = known.corrected;
  const [graph, { loop, loops }] = [nvls(known, fabric, release), nvlsCut(known, nbytes, fabric, release)];
  const rate = share * known.model.nvls_efficiency[fabric.generation] * wire(fabric, release) * 1e9;
  const moved = Math.min(nbytes, loop);
  const slowest = moved / (((graph.channels * graph.inside * 5) / 6) * 1e9);
  return launch.call + (loops + 2) * Math.max(stage + moved / rate, slowest);
}
