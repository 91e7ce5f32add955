// The collectives of a trace. See helpers/nccl/output/traces/kineto_collectives.py.

import { whole } from "../python/whole.mjs";
import { aText, aWhole, field } from "./checks.mjs";
import { spanOf } from "./events.mjs";
import { minus, total } from "./intervals.mjs";

const OPS = {
  reducescatter: "reduce_scatter",
  allreduce: "all_reduce",
  allgather: "all_gather",
  alltoall: "all_to_all",
  broadcast: "broadcast",
  sendrecv: "send_recv",
  barrier: "barrier",
  scatter: "scatter",
  gather: "gather",
  reduce: "reduce",
  send: "send",
  recv: "recv",
};
const ITEM = new Map([
  ...["Byte", "Char", "Bool"].map((one) => [one, 1n]),
  ...["Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz"].map((one) => [one, 1n]),
  ...["Short", "Half", "BFloat16", "UInt16"].map((one) => [one, 2n]),
  ...["Int", "Float", "UInt32"].map((one) => [one, 4n]),
  ...["Long", "Double", "UInt64", "ComplexFloat"].map((one) => [one, 8n]),
  ["ComplexDouble", 16n],
]);
export const NAME = "Collective name";
export const INPUT = "In msg nelems";
export const OUTPUT = "Out msg nelems";
const GROUP = "Process Group Name";
const KERNEL_OP = /^nccl(?:Dev)?Kernel_(\w+?)(?:_|\(|$)/;

/** "_allgather_base" and "AllGather" are all_gather; a word that is none of ours stays as it is. */
export function opOf(word) {
  const plain = word.replaceAll("_", "").toLowerCase();
  const begins = Object.keys(OPS).find((one) => plain.startsWith(one));
  return begins ? OPS[begins] : word;
}

/** One call. start, end and exposed are handed out as numbers; see Collective in Python for what each is. */
export function collective(event, lane, args, word, compute) {
  const about = `event ${event.place}`;
  const told = field(args, NAME);
  const [nranks, number] = [wholeOf(args, "Group size", about), wholeOf(args, "Seq", about)];
  const dtype = textOf(args, "dtype", about);
  return {
    place: event.place,
    lane,
    op: opOf(told === null ? word : aText(told, `${about}: ${NAME}`)),
    group: textOf(args, GROUP, about),
    number: number === null ? null : whole(number),
    nranks: nranks ? whole(nranks) : null,
    dtype,
    nbytes: nbytesOf(args, dtype, about),
    start: whole(event.start),
    end: whole(event.end),
    exposed: whole(total(minus(event.start < event.end ? [spanOf(event)] : [], compute))),
  };
}

function nbytesOf(args, dtype, about) {
  const [sent, received] = [wholeOf(args, INPUT, about), wholeOf(args, OUTPUT, about)];
  if (sent === null || received === null || !ITEM.has(dtype)) return null;
  const most = sent > received ? sent : received;
  return most ? whole(most * ITEM.get(dtype)) : null;
}

function wholeOf(args, name, about) {
  const value = field(args, name);
  return value === null ? null : aWhole(value, `${about}: ${name}`);
}

function textOf(args, name, about) {
  const value = field(args, name);
  return value === null ? null : aText(value, `${about}: ${name}`);
}

/** NCCL's kernels: by what kineto wrote into them, or by their name. */
export const isTalk = ({ category, name, args }) =>
  category === "kernel" && (args.has(NAME) || name.startsWith("nccl"));

/** "AllReduce" of ncclDevKernel_AllReduce_Sum_f32_RING_LL(...); of another name its beginning. */
export const kernelWord = ({ name }) => KERNEL_OP.exec(name)?.[1] ?? name.split("(")[0];
