// How one call is cut over channels, and NVLS into loops. As helpers/nccl/cut.py, tested equal.
import { channelsOf, nvlsBlocks } from "./fabric.mjs";

// Channels of a ring or a tree: as many as have a threshold's bytes for each of their threads.
export function blockCount(known, { algorithm, protocol }, nbytes, fabric, release) {
  const { threads, threshold } = known.protocols[protocol];
  const ranks = algorithm === "Ring" && protocol === "LL" ? fabric.nranks : 1;
  const fed = Math.floor(nbytes / (threads * threshold * ranks));
  return Math.max(1, Math.min(channelsOf(known, fabric, release), fed));
}

// Each block moves one chunk for every head in a loop; a short message takes shorter chunks.
export function nvlsCut(known, nbytes, fabric, release) {
  const wide = nvlsBlocks(fabric, release) * fabric.gpus;
  let chunk = Math.min(known.cut.nvls_chunk, known.protocols.Simple.chunk);
  for (const [many, shorter] of known.cut.nvls_chunks)
    if (nbytes < many * wide * chunk) chunk = Math.min(chunk, shorter);
  return { loop: wide * chunk, loops: Math.max(1, Math.ceil(nbytes / (wide * chunk))) };
}
