// Which algorithm and protocol NCCL takes for a call, and how long that lasts. As helpers/nccl/predict.py, tested equal.
import { corrected } from "./corrected.mjs";
import { blockCount } from "./cut.mjs";
import { channelsOf, nvlsBlocks } from "./fabric.mjs";
import { fabricWith, platform } from "./platforms.mjs";
import { repr, ValueError } from "./refused.mjs";
import { releaseOf } from "./releases.mjs";
import { costs } from "./tuning.mjs";

const UNKNOWN = "NCCL's raw formula: no table of ours covers this choice";

// known: what known.py hands over. machine: see platforms.mjs. nranks: all of the machine's where null. launch: { call, hop }, of
// the reader's own program where they measured it. Returns the fields of Python's Choice; throws NotPredicted and ValueError.
export function predict(known, collective, nbytes, machine, nranks = null, version = null, launch = null) {
  if (!Number.isInteger(nbytes) || nbytes < 1)
    throw new ValueError(`nbytes is a whole number of bytes, got ${repr(nbytes)}`);
  const named = version ?? known.model.latest;
  const [release, own] = [releaseOf(known, named), platform(known, machine, launch)];
  const fabric = fabricWith(known, own, nranks);
  const candidates = costs(known, collective, nbytes, fabric, release)
    .map((cost) => candidate(known, collective, nbytes, cost, fabric, release, own))
    .toSorted((a, b) => a.raw - b.raw);
  const [{ algorithm, protocol, channels, raw, corrected: clock }] = candidates;
  const note = [own.note, clock === null ? UNKNOWN : ""].filter(Boolean).join("; ");
  const chosen = { algorithm, protocol, channels, seconds: clock ?? raw, raw, candidates, note };
  return { collective, nbytes, nranks: fabric.nranks, version: named, ...chosen };
}

function candidate(known, collective, nbytes, cost, fabric, release, { launch }) {
  const { algorithm, protocol, latency, bandwidth } = cost;
  const seconds = launch ? corrected(known, collective, cost, nbytes, fabric, release, launch) : null;
  const channels = blocks(known, cost, nbytes, fabric, release);
  return { algorithm, protocol, channels, raw: latency + nbytes / bandwidth, corrected: seconds };
}

function blocks(known, cost, nbytes, fabric, release) {
  const between = cost.algorithm === "NVLS" && fabric.nodes > 1;
  if (between) return Math.min(nvlsBlocks(fabric, release), channelsOf(known, fabric, release));
  if (cost.algorithm.startsWith("NVLS")) return nvlsBlocks(fabric, release);
  if (cost.algorithm === "PAT") return channelsOf(known, fabric, release);
  return blockCount(known, cost, nbytes, fabric, release);
}
