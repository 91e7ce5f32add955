// A trace of torch's profiler: where the time of one rank went. See helpers/nccl/output/traces/kineto_trace.py.

import { compareTexts } from "../python/texts.mjs";
import { whole } from "../python/whole.mjs";
import { aDict, aList, aText, aWhole, field } from "./checks.mjs";
import { collective, isTalk, kernelWord } from "./collectives.mjs";
import { callsOf, computing } from "./cpu.mjs";
import { eventsOf, isLoader, isOnGpu, spanOf, stepsOf } from "./events.mjs";
import { both, compare, minus, total, union, within } from "./intervals.mjs";
import { dataOf } from "./sources.mjs";

const CPU = "cpu";

/** The trace of one rank, of its text or its unpacked bytes; fields as KinetoTrace has them in Python.
 *
 * Times are numbers, beyond 2^53 BigInts. work: a list of [device, {compute, communication, copies}] of BigInts, for `breakdown`.
 */
export function parseKineto(source) {
  const data = dataOf(source);
  const { events, began } = eventsOf(data);
  const about = aDict(field(data, "distributedInfo", new Map()), "distributedInfo");
  const { work, calls, lanes } = events.some(isOnGpu) ? onGpus(events) : onCpu(events, oneGroup(about));
  const head = {
    rank: rankOf(about, "rank"),
    world_size: rankOf(about, "world_size"),
    backend: aText(field(about, "backend", ""), "distributedInfo: backend"),
    nccl: aText(field(about, "nccl_version", ""), "distributedInfo: nccl_version"),
    gpus: aList(field(data, "deviceProperties", []), "deviceProperties").map(gpuOf),
  };
  const wall = events.reduce((last, { end }) => (end > last ? end : last), 0n);
  const collectives = calls.sort((one, other) => compare(one.start, other.start) || one.place - other.place);
  const loading = union(events.filter(isLoader).map(spanOf));
  const times = { wall: whole(wall), began: whole(began), events: events.length, steps: stepsOf(events) };
  return { ...head, ...times, lanes, collectives, loading, work };
}

/** GPUs that did something, in order; ["cpu"] of a trace without any. */
export const devicesOf = ({ work }) => work.map(([device]) => device);

/** A device's time: {wall, compute, exposed, copies, idle, communication, loading}, of the whole trace or of a step. */
export function breakdown({ work, wall, steps, loading }, at = 0, step = null) {
  const [, { compute: all, communication, copies: moved }] = work[at];
  const window = (step === null ? [0, wall] : steps[step]).map(BigInt);
  const [compute, talk, copies] = [all, communication, moved].map((spans) => within(spans, window));
  const idle = minus(union([window]), union([...compute, ...talk, ...copies].map((span) => [...span])));
  const parts = {
    compute,
    exposed: minus(talk, compute),
    copies: minus(copies, union([...compute, ...talk].map((span) => [...span]))),
    idle,
    communication: talk,
    loading: both(idle, within(loading, window)),
  };
  const sums = Object.entries(parts).map(([name, spans]) => [name, whole(total(spans))]);
  return { wall: whole(window[1] - window[0]), ...Object.fromEntries(sums) };
}

/** The collectives of which most was exposed. */
export const longest = ({ collectives }, count) =>
  collectives.toSorted((one, other) => compare(other.exposed, one.exposed) || one.place - other.place).slice(0, count);

function rankOf(about, name) {
  const value = field(about, name);
  return value === null ? null : whole(aWhole(value, `distributedInfo: ${name}`));
}

function gpuOf(properties, place) {
  const about = `deviceProperties ${place}`;
  return aText(field(aDict(properties, about), "name"), `${about}: name`);
}

/** Ranks of the only group, a BigInt or null: of several a call of Gloo does not say which was its own. */
function oneGroup(about) {
  if (field(about, "pg_count", 1n) !== 1n) return null;
  const value = field(about, "world_size");
  return value === null ? null : aWhole(value, "distributedInfo: world_size");
}

const handed = (place) => (typeof place === "bigint" ? whole(place) : place);

function onGpus(events) {
  const mine = events.filter(isOnGpu);
  const calls = [];
  const work = distinct(mine.map(({ pid }) => pid)).map((device) => {
    const own = mine.filter(({ pid }) => pid === device);
    const talk = own.filter(isTalk);
    const compute = union(own.filter((one) => one.category === "kernel" && !isTalk(one)).map(spanOf));
    calls.push(...talk.map((one) => collective(one, handed(device), one.args, kernelWord(one), compute)));
    const copies = union(own.filter(({ category }) => category !== "kernel").map(spanOf));
    return [handed(device), { compute, communication: union(talk.map(spanOf)), copies }];
  });
  return { work, calls, lanes: lanesOf(mine) };
}

function onCpu(events, nranks) {
  const [talk, ops] = [callsOf(events, nranks), computing(events)];
  const compute = union(ops.map(spanOf));
  const calls = talk.map(({ event, args, word }) => collective(event, CPU, args, word, compute));
  const communication = union(talk.map(({ event }) => spanOf(event)));
  const lanes = lanesOf([...ops, ...talk.map(({ event }) => event)].map((event) => ({ ...event, pid: CPU })));
  return { work: [[CPU, { compute, communication, copies: [] }]], calls, lanes };
}

/** Each once: numbers by size, before names. */
const distinct = (places) => [...new Set(places)].sort(byPlace);

function byPlace(one, other) {
  if (typeof one !== typeof other) return typeof one === "bigint" ? -1 : 1;
  return typeof one === "bigint" ? compare(one, other) : compareTexts(one, other);
}

function lanesOf(events) {
  return distinct(events.map(({ pid }) => pid)).flatMap((device) => {
    const own = events.filter(({ pid }) => pid === device);
    return distinct(own.map(({ tid }) => tid)).map((stream) => {
      const spans = own.filter(({ tid }) => tid === stream).map(spanOf);
      const busy = whole(total(union(spans)));
      return { device: handed(device), stream: handed(stream), spans: spans.length, busy };
    });
  });
}
