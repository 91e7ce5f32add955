// The JSON that nccl-tests writes with -J, from 2.17.3 on: helpers/nccl/output/tables/report.py.
import { lineOf } from "./cleaned.mjs";
import { unreadable } from "./errors.mjs";
import { REDOPS, WORD } from "./fits.mjs";
import { Facts, deviceOf, programOf, settingsOf, versionOf } from "./header.mjs";
import { dumps, loads } from "./json.mjs";
import { DIGITS, printed } from "./printed.mjs";
import { Rows } from "./tables.mjs";
import { repr } from "./text.mjs";

const COLUMNS = ["size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong"];
const RANKS = ["nthreads", "ngpus"];
const BYTES = ["minimum_bytes", "maximum_bytes"];
const ITERS = ["warmup_iters", "iterations"];
const LATER = ["aggregated_iterations", "validation", "graph"];
const ROOT = /^ *(-1|\d{1,9}) *$/;
const DEEPEST = 20; // levels of lists and objects; a report has five
const QUOTED = 60; // letters
const MOST_RANKS = 6; // digits of a number of threads, and of GPUs of each

// The one table of a report. A row's line is its place in `results`, from 1 on. text: as `spaced` gives it.
export function report(text) {
  const told = loaded(text);
  const results = told instanceof Map ? told.get("results") : null;
  if (!Array.isArray(results) || !results.length) {
    throw unreadable("this is no report of nccl-tests -J: it has no list of results");
  }
  return tableOf(told, results);
}

// What the JSON holds. nccl-tests writes all of it in one line: an error quotes what stands before it.
function loaded(text) {
  const { told, wrong, deep } = loads(text);
  if (wrong !== undefined) {
    const before = text.slice(0, wrong).replace(/[ ,\n]+$/, "");
    const where = lineOf(before.split("\n").length, "", [...before].slice(-QUOTED).join(""));
    throw unreadable("this begins as JSON and is none from behind these words on", where);
  }
  if (deep || isDeeper(told, DEEPEST)) {
    throw unreadable("this begins as JSON and is nested too deeply for a report of nccl-tests");
  }
  return told;
}

function isDeeper(told, levels) {
  const inner = told instanceof Map ? [...told.values()] : Array.isArray(told) ? told : [];
  return levels < 0 || inner.some((one) => isDeeper(one, levels - 1));
}

function tableOf(told, results) {
  const facts = factsOf(told);
  const timed = !results.some((row) => dumps(row).includes("cpu_time"));
  const rows = new Rows(lineOf(1, "", ""), COLUMNS, facts, timed);
  results.forEach((one, at) => rows.add(rowOf(one, lineOf(at + 1, "", dumps(one), "result"))));
  if (told.has("out_of_bounds")) {
    const [bounds, end] = endOf(told, "out_of_bounds");
    const count = whole(bounds, "count", end);
    rows.bounds(count, of(bounds, "okay", end) === "true" ? "OK" : "FAILED", end);
  }
  if (told.has("average_bus_bandwidth")) {
    const [average, end] = endOf(told, "average_bus_bandwidth");
    rows.mean(number(average, "bandwidth", end), end);
  }
  return rows.table();
}

const endOf = (told, key) => [told.get(key), lineOf(1, "", dumps(told.get(key)), `${key}, table`)];

// With one process a report names its first GPU alone, with several the first of each: so ranks are counted by process.
function factsOf(told) {
  const before = ["version", "nccl_version", "config"]
    .filter((key) => told.has(key))
    .map((key) => [key, told.get(key)]);
  const line = lineOf(1, "", dumps(new Map(before)), "config, table");
  const [facts, config, args] = [new Facts(), told.get("config"), told.get("args")];
  if (told.has("nccl_version")) facts.nccl = versionOf(whole(told, "nccl_version", line));
  if (Array.isArray(args) && typeof args[0] === "string") {
    facts.program = programOf(args[0].split(/[\\/]/).at(-1), line);
  }
  if (config instanceof Map) configure(facts, config, line);
  return facts;
}

function configure(facts, config, line) {
  facts.settings = settings(config, line);
  const devices = config.get("devices");
  for (const one of Array.isArray(devices) ? devices : []) {
    const device = deviceIn(one, line);
    facts.devices.set(`${device.group} ${device.rank}`, [device, line]);
  }
  const groups = new Set([...facts.devices.values()].map(([{ group }]) => group));
  if (groups.size === 1) facts.ranks = facts.devices.size * facts.settings.nthreads * facts.settings.ngpus;
}

function settings(config, line) {
  const step = config.has("step_factor") ? "step_factor" : "step_bytes";
  const all = (keys, digits) => keys.map((key) => whole(config, key, line, digits));
  const ranks = [...all(RANKS, MOST_RANKS), ...all(BYTES)];
  return settingsOf(ranks, whole(config, step, line), step === "step_factor", all(ITERS), all(LATER));
}

function deviceIn(one, line) {
  const [rank, group, pid, device] = ["rank", "group", "pid", "device"].map((key) => whole(one, key, line));
  const names = ["hostname", "device_hex", "device_info"].map((key) => of(one, key, line));
  const [host, bus, name] = names.map((told) => (typeof told === "string" ? told : repr(told)));
  return deviceOf(rank, group, pid, host, device, bus, name);
}

function rowOf(one, line) {
  const [dtype, redop] = [of(one, "type", line), of(one, "redop", line)];
  if (typeof dtype !== "string" || !Object.hasOwn(WORD, dtype) || ![...REDOPS, "none", ""].includes(redop)) {
    throw unreadable(`no type and operation of nccl-tests: ${repr(dtype)}, ${repr(redop)}`, line);
  }
  const root = of(one, "root", line);
  if (typeof root !== "string" || !ROOT.test(root)) {
    throw unreadable(`root is a rank, or -1 where there is none, got ${repr(root)}`, line);
  }
  const halves = [half(of(one, "out_of_place", line), line), half(of(one, "in_place", line), line)];
  if (!halves[0] && !halves[1]) throw unreadable("a result has times out of place, in place or both", line);
  const [nbytes, count] = [whole(one, "size", line), whole(one, "count", line)];
  return { line, nbytes, count, dtype, redop: REDOPS.includes(redop) ? redop : null, root: Number(root), halves };
}

function half(one, line) {
  if (one === null) return null;
  const time = number(one, one instanceof Map && one.has("cpu_time") ? "cpu_time" : "time", line);
  const wrong = of(one, "nwrong", line) === null ? null : number(one, "nwrong", line);
  if (wrong && !Number.isInteger(wrong.value)) {
    throw unreadable(`nwrong counts elements, got ${repr(wrong.text)}`, line);
  }
  const [alg, bus] = [number(one, "alg_bw", line), number(one, "bus_bw", line)];
  return { time, alg, bus, wrong: wrong && wrong.value, error: null };
}

function of(one, key, line) {
  if (!(one instanceof Map) || !one.has(key)) throw unreadable(`${repr(key)} is missing`, line);
  return one.get(key);
}

function number(one, key, line) {
  const told = of(one, key, line);
  const found = typeof told === "string" ? printed(told) : null;
  if (!found) throw unreadable(`${key} is a number that is not negative, got ${repr(told)}`, line);
  return found;
}

function whole(one, key, line, digits = DIGITS) {
  const told = of(one, key, line);
  if (typeof told !== "string" || !/^\d+$/.test(told) || told.length > digits) {
    throw unreadable(`${key} is a whole number of at most ${digits} digits, got ${repr(told)}`, line);
  }
  return Number(told);
}
