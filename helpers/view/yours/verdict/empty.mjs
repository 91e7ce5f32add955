// A verdict as plain data; as helpers/yours/verdict.py, which says what each field means. Tested equal, field by field.
import { bandwidthText, nbytesText, secondsText } from "./texts.mjs";

const EMPTY = {
  what: "",
  sentence: "",
  machine: "",
  points: [],
  line_rate: null,
  line_rate_share: null,
  plateau: null,
  plateau_of: "",
  plateau_share: null,
  nearest: [],
  predicted: [],
  unpredicted: "",
  bends: [],
  causes: [],
  lines: [],
  refused: "",
};

export const verdict = (kind, parts) => ({ kind, ...EMPTY, ...parts });

// A text that is none of ours, or damaged.
export const refusal = (why) => verdict("refused", { refused: why });

// "355.9 GB/s busbw at 1 GiB, in 4.53 ms"
export const pointText = ({ nbytes, seconds, busbw }) =>
  `${bandwidthText(busbw)} busbw at ${nbytesText(nbytes)}, in ${secondsText(seconds)}`;

// One of the known kinds with the reader's own numbers. accuses: where it is not the kind's.
export function cause(known, name, why, { program = "all_reduce_perf", gpus = null, accuses = null, hosts = 1 } = {}) {
  const kind = known.kinds[name];
  const form = hosts < 2 || !gpus ? kind.command : byMpirun(kind.command, Math.max(1, Math.floor(gpus / hosts)));
  const command = form.replaceAll("{program}", program).replaceAll("{gpus}", gpus || 8);
  return { name, why, chapter: kind.chapter, command, accuses: accuses ?? kind.accuses };
}

// What runs nccl-tests, on several hosts; other commands as they are.
function byMpirun(command, each) {
  if (!command.includes("./build/")) return command;
  const told = command.replaceAll("NCCL_DEBUG", "-x NCCL_DEBUG").replaceAll("-g {gpus}", "-g 1");
  return `mpirun -np {gpus} -N ${each} ${told}`;
}
