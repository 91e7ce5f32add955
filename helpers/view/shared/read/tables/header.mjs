// What stands before a table of nccl-tests: versions, settings, the program, the devices: helpers/nccl/output/tables/header.py.
import { unreadable } from "./errors.mjs";
import { NAMES } from "./fits.mjs";
import { DIGITS } from "./printed.mjs";
import { repr } from "./text.mjs";

const N = `(\\d{1,${DIGITS}})`;
const whole = (pattern) => new RegExp(`^${pattern}$`);
const TESTS = whole(`nccl-tests version (\\S+)(?: \\(\\w+\\))? nccl-headers=${N} nccl-library=${N}`);
const SETTINGS = whole(
  `nThread ${N} nGpus ${N} minBytes ${N} maxBytes ${N} step: ${N}\\((factor|bytes)\\) warmup iters: ${N} iters: ${N}` +
    `(?: agg iters: ${N})?(?: validation: ${N})?(?: graph: ${N})?(?: unalign: ${N})?`,
);
const DEVICE = whole(
  `Rank +${N}(?: +Group +${N})? +Pid +${N} +on +(\\S+) +device +${N} +\\[([0-9a-fA-Fx:.]+)\\] +(\\S.*)`,
);
const STARTS = /^Collective test starting: (\S+)$/;
const NCCL = /\bNCCL version (\d{1,4}\.\d{1,4}\.\d{1,4})/;
const COMMAND = new RegExp(`\\b(${NAMES.join("|")})_perf(?:_mpi)?(?=\\s+-|\\s*$)`);
const RANK = /^\s*#+\s*Rank +\d+ |\bPid +\d+ +on /; // not what a script says of its ranks

// One rank and where it ran. bus: as printed, 0x47 or 0000:47:00. group: of NCCL_TESTS_SPLIT, 0 where nothing was split.
export const deviceOf = (rank, group, pid, host, device, bus, name) => ({ rank, group, pid, host, device, bus, name });

// The options of a run. step: a factor, or bytes where `factor` is false. validation: checks per size, 0 for none.
export function settingsOf([nthreads, ngpus, min_bytes, max_bytes], step, factor, [warmup_iters, iters], later) {
  const [agg_iters = null, validation = null, graph = null, unalign = null] = later;
  const run = { nthreads, ngpus, min_bytes, max_bytes, step, factor, warmup_iters, iters };
  return { ...run, agg_iters, validation, graph, unalign };
}

// 22809 -> "2.28.9"; up to 2.8 a version had a digit less: 2708 -> "2.7.8" (NCCL_VERSION in nccl.h).
export function versionOf(code) {
  const [major, minor] = code >= 10000 ? [10000, 100] : [1000, 10];
  return `${Math.floor(code / major)}.${Math.floor(code / 100) % minor}.${code % 100}`;
}

// What was said since the last table. ranks: how many, where the text says it outright.
export class Facts {
  tests = null;
  nccl = null;
  ncclLine = null;
  program = null;
  commands = new Set();
  settings = null;
  ranks = null;
  devices = new Map(); // "group rank" -> [device, line]

  // One line; refused where it begins as one of nccl-tests' and does not go on as such, or says otherwise than before.
  take(line, said) {
    if (said.startsWith("nccl-tests version")) this.versions(line, said);
    else if (said.startsWith("Collective test starting")) {
      this.program = programOf(matched(STARTS, said, "Collective test starting: all_reduce_perf", line)[1], line);
    } else if (said.startsWith("nThread")) this.begin(line, said);
    else if (RANK.test(line.text)) this.device(line, said);
    else if (NCCL.test(said)) this.version(NCCL.exec(said)[1], line);
    else if (COMMAND.test(said)) this.commands.add(COMMAND.exec(said)[1]);
  }

  versions(line, said) {
    const told = matched(TESTS, said, "nccl-tests version 2.18.0 nccl-headers=22907 nccl-library=22907", line);
    Object.assign(this, { tests: told[1], nccl: versionOf(Number(told[3])), ncclLine: line });
  }

  // The line of settings: what a run said that ended without a table is forgotten.
  begin(line, said) {
    const told = matched(SETTINGS, said, "nThread 1 nGpus 8 minBytes 8 maxBytes 1024 step: 2(factor) ...", line);
    const numbers = (from, to) => told.slice(from, to).map((text) => (text === undefined ? null : Number(text)));
    const [step] = numbers(5, 6);
    this.settings = settingsOf(numbers(1, 5), step, told[6] === "factor", numbers(7, 9), numbers(9, 13));
    this.devices = new Map();
    if (this.tests === null) this.nccl = this.ncclLine = null;
  }

  device(line, said) {
    const told = matched(
      DEVICE,
      said,
      "Rank  0 Group  0 Pid  16629 on node-1 device  0 [0000:06:00] NVIDIA H100",
      line,
    );
    const [rank, group, pid, device] = [1, 2, 3, 5].map((at) => Number(told[at] ?? 0));
    const before = this.devices.get(`${group} ${rank}`);
    if (before) {
      const mixed = "two runs are mixed in one text, as when nccl-tests was built without MPI=1 and started by mpirun";
      throw unreadable(`rank ${rank} was named in line ${before[1].number} already: ${mixed}`, line);
    }
    const one = deviceOf(rank, group, pid, told[4], device, told[6], told[7].trim());
    this.devices.set(`${group} ${rank}`, [one, line]);
  }

  version(told, line) {
    if (this.ncclLine && this.nccl !== told) {
      throw unreadable(`NCCL ${told} here, ${this.nccl} in line ${this.ncclLine.number}`, line);
    }
    this.nccl = told;
    this.ncclLine ??= line;
  }

  // How many ranks took part in one collective; null where the list is not there or not whole.
  get nranks() {
    if (this.ranks !== null) return this.ranks;
    const counts = new Map();
    for (const [{ group }] of this.devices.values()) counts.set(group, (counts.get(group) ?? 0) + 1);
    const sizes = new Set(counts.values());
    const whole = [...this.devices.values()].every(([{ group, rank }]) => rank < counts.get(group));
    const each = this.settings ? this.settings.nthreads * this.settings.ngpus : 1;
    return sizes.size === 1 && whole && this.devices.size % Math.max(each, 1) === 0 ? [...sizes][0] : null;
  }
}

// all_reduce_perf_mpi -> all_reduce; refused for a program that nccl-tests has not.
export function programOf(text, line) {
  const name = text.replace(/_perf(?:_mpi)?(?:\.exe)?$/, "");
  if (!NAMES.includes(name)) {
    throw unreadable(`a program of nccl-tests is one of ${NAMES.join(", ")}, each with _perf, got ${repr(text)}`, line);
  }
  return name;
}

function matched(pattern, said, like, line) {
  const found = pattern.exec(said);
  if (!found) throw unreadable(`this should read like: ${like}`, line);
  return found;
}
