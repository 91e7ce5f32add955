// The verdict on traces of torch's profiler: where the time went, and what to look at first. As helpers/yours/traces.py.
import { predict } from "../../shared/nccl/predict.mjs";
import { ValueError } from "../../shared/nccl/refused.mjs";
import { caused, timesLast, together, waited } from "../../shared/read/traces/ranks.mjs";
import { breakdown, devicesOf, longest } from "../../shared/read/traces/trace.mjs";
import { versionOf } from "./beside.mjs";
import { busFactor } from "./curves.mjs";
import { cause, verdict } from "./empty.mjs";
import { gpuPlace, isAlone, portsOf } from "./places.mjs";
import { bandwidthText, nbytesText, percent, secondsText } from "./texts.mjs";

const time = (nanoseconds) => secondsText(Number(nanoseconds) / 1e9);
const sum = (values) => values.reduce((all, one) => all + Number(one), 0);
const share = (parts, name) => (parts.wall ? Number(parts[name]) / Number(parts.wall) : 0);

// One rank's, or several ranks' of one run.
export function ofTraces(known, traces, told) {
  const ranks = traces.length > 1 ? together(traces) : null;
  const first = traces.reduce((most, one) => (breakdown(one).exposed > breakdown(most).exposed ? one : most));
  const place = told ?? gpuPlace(known, first.gpus.slice(0, 1));
  const said = first.collectives.map((call) => ({ call, limit: limitOf(known, call, place, first) }));
  const found = causesOf(known, first, ranks, said).toSorted(([one], [other]) => other - one);
  const causes = found.map(([, one]) => one);
  const machine = place === null ? "" : place.told ? place.title : `GPUs taken to be joined as in ${place.title}`;
  const lines = linesOf(traces, first, said).slice(0, known.traces.most);
  return verdict("trace", { what: whatOf(traces, first), sentence: sentenceOf(first, causes), machine, causes, lines });
}

function limitOf(known, { op, nbytes, nranks }, place, { nccl }) {
  if (place === null || nbytes === null || nranks === null || nranks < 2) return null;
  if (!isAlone(place, nranks) && !portsOf(place)) return null;
  if (!known.nccl.model.collectives.includes(op)) return null;
  const { starts, smallest } = known.traces;
  const seconds = (size) => predict(known.nccl, op, size, place, nranks, versionOf({ nccl }, known)).seconds;
  try {
    return seconds(nbytes) < starts * seconds(smallest) ? "latency" : "bandwidth";
  } catch (error) {
    if (error instanceof ValueError) return null;
    throw error;
  }
}

function whatOf(traces, { rank, world_size: size, events, wall }) {
  const world = size === null ? "" : ` of ${size}`;
  if (traces.length > 1) return `traces of torch's profiler, of ${traces.length} ranks${world}`;
  const name = rank === null ? "" : `, of rank ${rank}${world}`;
  return `a trace of torch's profiler${name}: ${events} events, ${time(wall)}`;
}

function sentenceOf(first, causes) {
  const parts = breakdown(first);
  const [device] = devicesOf(first);
  const who = first.rank === null ? "this rank" : `rank ${first.rank}`;
  const on = device === "cpu" ? "its CPU" : `GPU ${device}`;
  const of = (name) => percent(share(parts, name));
  const copied = parts.copies ? `, copied ${of("copies")}` : "";
  let said = `Of ${time(parts.wall)} of ${who}, ${on} computed ${of("compute")}, talked ${of("exposed")} beside no`;
  said += ` computation${copied} and was idle ${of("idle")}.`;
  const { communication, exposed } = parts;
  if (communication) {
    said += ` ${percent((Number(communication) - Number(exposed)) / Number(communication))} of its communication was hidden.`;
  }
  const accused = causes.find(({ accuses }) => accuses);
  return accused ? `${said} Look first at: ${accused.name}.` : said;
}

// [nanoseconds that it stands for, cause] each.
function causesOf(known, first, ranks, said) {
  const [parts, { limits, traces }] = [breakdown(first), known];
  const [wall, exposed, idle, loading] = ["wall", "exposed", "idle", "loading"].map((name) => Number(parts[name]));
  const found = ranks?.held.length ? late(known, ranks, wall) : [];
  const add = (nanoseconds, name, why) => found.push([nanoseconds, cause(known, name, why)]);
  if (share(parts, "loading") >= limits.loads) {
    add(
      loading,
      "data loading",
      `for ${time(loading)} of ${time(wall)} nothing ran while the process waited for its next batch`,
    );
  }
  const small = said.filter(({ call, limit }) => call.exposed && isSmall(call, limit, traces));
  const waits = ranks ? Number(waited(ranks, first.rank ?? 0)) : 0;
  const lost = Math.max(0, sum(small.map(({ call }) => call.exposed)) - waits);
  if (small.length >= limits.few && lost >= limits.exposed * wall) {
    add(lost, "small collectives", smallsText(small, lost, said.length, traces));
  }
  if (share(parts, "exposed") >= limits.exposed) {
    add(exposed - Math.min(lost, exposed), "exposed communication", exposedText(first, exposed, wall));
  }
  if (devicesOf(first)[0] !== "cpu" && idle - loading >= limits.idle * wall) {
    const why = `for ${time(idle - loading)} of ${time(wall)} the GPU had nothing to do, and no loader was waited for`;
    add(idle - loading, "idle GPU", `${why}: kernels come too late, or too few events were recorded`);
  }
  return found;
}

const isSmall = ({ nbytes }, limit, { small }) =>
  limit === "latency" || (limit === null && nbytes > 0 && nbytes < small);

function late(known, ranks, wall) {
  const all = [...ranks.traces.keys()];
  const rank = all.reduce((most, one) => (caused(ranks, one) > caused(ranks, most) ? one : most));
  const waits = Number(caused(ranks, rank)) / (all.length - 1);
  if (waits < known.limits.late * wall) return [];
  const cost = sum(ranks.held.map((one) => one.cost));
  const why =
    `rank ${rank} came last in ${timesLast(ranks, rank)} of ${ranks.held.length} collectives, for which the others waited` +
    ` ${time(waits)} of ${time(wall)}; by the last to come, all of them together took ${time(cost)}`;
  return [[waits, cause(known, "late rank", why)]];
}

function smallsText(small, lost, count, { small: size }) {
  const isKnown = small.every(({ limit }) => limit);
  const how = isKnown ? "by NCCL's model half of their time is their start" : `below ${nbytesText(size)} each`;
  const why = `${small.length} of ${count} collectives are small (${how}), and ${time(lost)} of them ran beside no computation`;
  return `${why}: fewer and larger ones start less often`;
}

function exposedText(first, exposed, wall) {
  const [{ op, nbytes, exposed: its }] = longest(first, 1);
  const size = nbytes === null ? "" : ` of ${nbytesText(Number(nbytes))}`;
  return (
    `for ${time(exposed)} of ${time(wall)} a collective ran beside no computation; the longest is ${op}${size}, ${time(its)},` +
    " and waiting for another rank looks the same: give the traces of all ranks"
  );
}

function linesOf(traces, first, said) {
  const byPlace = new Map(said.map((one) => [one.call.place, one]));
  return [...traces.flatMap(rankLines), ...longest(first, 5).map(({ place }) => callLine(byPlace.get(place)))];
}

function rankLines(trace) {
  return devicesOf(trace).map((device, at) => {
    const { wall, compute, exposed, copies, idle } = breakdown(trace, at);
    const where = device === "cpu" ? "CPU" : `GPU ${device}`;
    const sums = `${time(compute)} computation + ${time(exposed)} exposed + ${time(copies)} copies + ${time(idle)} idle`;
    return `rank ${trace.rank ?? "?"}, ${where}: ${time(wall)} = ${sums}`;
  });
}

function callLine({ call, limit }) {
  const { place, op, nbytes, nranks, start, end, exposed } = call;
  const lasted = Number(BigInt(end) - BigInt(start));
  const size = nbytes === null ? "" : ` of ${nbytesText(Number(nbytes))}`;
  const ranks = nranks === null ? "" : ` on ${nranks} ranks`;
  const factor = busFactor(op, nranks);
  const isRated = nbytes !== null && lasted > 0 && factor !== null;
  const rate = isRated ? `, ${bandwidthText((Number(nbytes) / (lasted / 1e9)) * factor)} busbw one way per rank` : "";
  const limited = limit === null ? "" : `, limited by ${limit}`;
  return `event ${place}, ${op}${size}${ranks}: ${time(exposed)} exposed of ${time(lasted)}${rate}${limited}`;
}
