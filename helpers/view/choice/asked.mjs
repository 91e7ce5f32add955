// What the widget may be asked and what NCCL answers. As asked.py and widget.py, tested equal.
import { fabricWith, platform } from "../shared/nccl/platforms.mjs";
import { predict } from "../shared/nccl/predict.mjs";
import { releaseOf } from "../shared/nccl/releases.mjs";
import { costs } from "../shared/nccl/tuning.mjs";
import { nbytesText, secondsText } from "../shared/page/numbers.mjs";

export const GRAINS = [10, 34]; // the slider's ends, as powers of two
export const VERSIONS = ["2.23.4", "2.26.2", "2.27.3", "2.27.5", "2.28.9", "2.29.2", "2.29.7", "2.30.7"];
export const NODES = [1, 2, 3, 4, 8, 16, 32, 64, 128];
const RACK = [2, 4, 8, 16, 36, 72];
const HARDLY = 0.5e-9;

const racked = ({ domain, gpus }) => domain > gpus;

export const offered = ({ machines }) =>
  Object.keys(machines).filter(
    (name) => machines[name].shape === "switch" && (machines[name].nodes === 1 || racked(machines[name])),
  );

const placed = ({ machines }, { machine, nodes }) =>
  racked(machines[machine]) ? machines[machine] : { ...machines[machine], nodes };

// How many nodes, and how many GPUs may take part: some of one node, all of several.
export const nodesOf = ({ machines }, machine) => (racked(machines[machine]) ? [1] : NODES);

export function ranksOf({ machines }, machine, nodes) {
  const { gpus, domain } = machines[machine];
  if (racked(machines[machine])) return RACK.filter((n) => n <= domain);
  return nodes > 1 ? [nodes * gpus] : Array.from({ length: gpus - 1 }, (_, i) => i + 2);
}

// The versions that know the GPUs of a machine.
export function versionsOf(known, machine) {
  const { accelerator } = platform(known, known.machines[machine]);
  return VERSIONS.filter((version) => known.platforms.generation[accelerator] in releaseOf(known, version).link);
}

// A spec with what its machine has: another number of nodes or GPUs, another version, where the asked one does not fit.
export function settled(known, s) {
  const [nodes, versions] = [nodesOf(known, s.machine), versionsOf(known, s.machine)];
  const kept = { ...s, nodes: nodes.includes(s.nodes) ? s.nodes : nodes[0] };
  const ranks = ranksOf(known, kept.machine, kept.nodes);
  if (!ranks.includes(kept.nranks)) kept.nranks = ranks.at(-1);
  for (const one of ["version", "beside"]) if (!versions.includes(kept[one])) kept[one] = versions.at(-1);
  return kept;
}

export const chosen = (known, s, version = s.version, nbytes = s.nbytes) =>
  predict(known, s.collective, nbytes, placed(known, s), s.nranks, version);

// NCCL's start and rate of every candidate, by its way.
export function estimates(known, s) {
  const fabric = fabricWith(known, platform(known, placed(known, s)), s.nranks);
  const found = costs(known, s.collective, s.nbytes, fabric, releaseOf(known, s.version));
  return new Map(found.map((one) => [way(one), one]));
}

// The published run of exactly this, or undefined.
export const runOf = (known, published, s, version) =>
  published.find(
    (run) =>
      s.nodes === 1 &&
      run.gpu === known.machines[s.machine].accelerator &&
      run.version === version &&
      run.collective === s.collective &&
      run.nranks === s.nranks,
  );

export function measured(known, published, s, version) {
  const run = runOf(known, published, s, version);
  return run?.seconds[Math.log2(s.nbytes / run.nbytes)];
}

export const way = ({ algorithm, protocol }) => `${algorithm}/${protocol}`;

function by(seconds, more, less) {
  if (Math.abs(seconds) < HARDLY) return "";
  return `${secondsText(Math.abs(seconds))} ${seconds > 0 ? more : less}`;
}

export function verdict(known, s) {
  const [first, second] = chosen(known, s).candidates;
  const where = s.nodes > 1 ? `in ${s.nodes}` : "of one";
  const asked = `${s.collective} of ${nbytesText(s.nbytes)} on ${s.nranks} GPUs ${where} ${s.machine}`;
  const said = `${asked}: NCCL ${s.version} takes ${way(first)}, which it estimates at ${secondsText(first.raw)}.`;
  if (!second) return said;
  const lines = estimates(known, s);
  const [one, two] = [first, second].map((each) => lines.get(way(each)));
  const begins = by(two.latency - one.latency, "later", "earlier") || "as early";
  const lasts = by(s.nbytes / two.bandwidth - s.nbytes / one.bandwidth, "longer", "less") || "as long";
  return `${said} The next, ${way(second)}, begins ${begins} and its bytes take ${lasts}.`;
}

function onClock(known, published, s, version) {
  const [{ corrected }] = chosen(known, s, version).candidates;
  const seen = measured(known, published, s, version);
  const said = corrected === null ? "No table of ours covers it" : `We expect ${secondsText(corrected)} of it`;
  return seen === undefined ? `${said}.` : `${said}; a published run took ${secondsText(seen)}.`;
}

export function compared(known, published, s) {
  const [mine, theirs] = [s.version, s.beside].map((version) => way(chosen(known, s, version)));
  const said = onClock(known, published, s, s.version);
  if (s.beside === s.version) return said;
  const same = mine === theirs ? "the same way" : theirs;
  const again = onClock(known, published, s, s.beside);
  return `${said} NCCL ${s.beside} takes ${same}.${again === said ? "" : ` ${again}`}`;
}
