// The trace of a rank without a GPU. See helpers/nccl/output/traces/kineto_cpu.py.

import { aList, aText, aWhole, field } from "./checks.mjs";
import { INPUT, OUTPUT, opOf } from "./collectives.mjs";
import { isLoader } from "./events.mjs";
import { compare } from "./intervals.mjs";

const GLOO = "gloo:";
const TALKS = [GLOO, "c10d::", "record_param_comms"];
const TYPES = new Map([
  ["float", "Float"],
  ["double", "Double"],
  ["c10::Half", "Half"],
  ["c10::BFloat16", "BFloat16"],
  ["long int", "Long"],
  ["long", "Long"],
  ["int", "Int"],
  ["short int", "Short"],
  ["short", "Short"],
  ["signed char", "Char"],
  ["unsigned char", "Byte"],
  ["bool", "Bool"],
]);

const isGloo = ({ category, name }) => category === "user_annotation" && name.startsWith(GLOO);
const talks = ({ name }) => TALKS.some((begin) => name.startsWith(begin));
const isOp = ({ category }) => category === "cpu_op";

/** Gloo's calls: {event, args, word}, args in kineto's words for a kernel of NCCL. nranks: a BigInt or null. */
export function callsOf(events, nranks) {
  return events.filter(isGloo).map((event) => {
    const word = event.name.slice(GLOO.length);
    return { event, args: argsOf(event, word, nranks), word };
  });
}

function argsOf({ place, args }, word, nranks) {
  const about = `event ${place}`;
  const found = new Map([["Group size", nranks]]);
  const [dims, types] = [field(args, "Input Dims"), field(args, "Input type")];
  if (dims === null || types === null) return found;
  const names = aList(types, `${about}: Input type`).map((one) => aText(one, `${about}: Input type`));
  const sizes = aList(dims, `${about}: Input Dims`).map((one) => numbers(one, `${about}: Input Dims`));
  const times = opOf(word) === "all_gather" ? (nranks ?? 0n) : 1n;
  if (!TYPES.has(names[0]) || new Set(names).size > 1 || !times) return found;
  const count = sizes.reduce((sum, one) => sum + one, 0n);
  return found
    .set(INPUT, count)
    .set(OUTPUT, count * times)
    .set("dtype", TYPES.get(names[0]));
}

function numbers(extents, about) {
  const each = aList(extents, about).map((extent) => aWhole(extent, about));
  return aWhole(
    each.reduce((product, one) => product * one, 1n),
    about,
  );
}

/** Operators that compute: not those that talk, in which something talks, or that make the next batch. */
export function computing(events) {
  const threads = new Map();
  for (const event of events.filter((one) => isOp(one) || talks(one) || isLoader(one))) {
    const key = [event.pid, event.tid].map((one) => `${typeof one} ${one}`).join("\0");
    if (!threads.has(key)) threads.set(key, []);
    threads.get(key).push(event);
  }
  return [...threads.values()].flatMap(ofThread);
}

const outermostFirst = (one, other) =>
  compare(one.start, other.start) || compare(other.end, one.end) || one.place - other.place;

function ofThread(events) {
  const found = [];
  const talking = new Set();
  const stack = [];
  for (const event of events.sort(outermostFirst)) {
    while (stack.length && stack.at(-1).end <= event.start) stack.pop();
    if (talks(event)) for (const { place } of stack) talking.add(place);
    if (isOp(event) && !talks(event) && !stack.some((one) => isLoader(one) || talks(one))) found.push(event);
    stack.push(event);
  }
  return found.filter(({ place }) => !talking.has(place));
}
