// Which choices a reader has at first sight: the ranks, the size, and what the author set beyond an algorithm on the usual link.
import { encode } from "./link.mjs";

// -> the names of the choices
export const mentioned = ({ link, recorded, gpus, across, nchunks, slices, rival }) => [
  "Number of ranks",
  "Size",
  !recorded && link !== "nvlink-4" && "Network",
  gpus && "Nodes",
  ...(across ? ["Network between nodes", "NICs per node"] : []),
  nchunks && "Number of chunks",
  slices && "Number of slices",
  rival && "Compared with",
];

// Does a spec say anything else than the author's, wherever the reader stands in it?
export const differs = (spec, base) => encode({ ...spec, step: null }, 0) !== encode({ ...base, step: null }, 0);
