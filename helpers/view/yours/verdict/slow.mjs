// Why a curve is slow: a symptom and the cause that shows it, in the order in which they cost. As helpers/yours/slow.py.
import { predict } from "../../shared/nccl/predict.mjs";
import { ValueError } from "../../shared/nccl/refused.mjs";
import { versionOf } from "./beside.mjs";
import { bestOf, programmed } from "./curves.mjs";
import { cause } from "./empty.mjs";
import { isAlone, portsOf, withPorts } from "./places.mjs";
import { fitting, isSimpleAlone, launch } from "./suspects.mjs";
import { bandwidthText, fixed, least, nbytesText, percent, secondsText } from "./texts.mjs";

const WITHOUT = {
  "NVLS off": "with the ring in place of the switch that adds (NVLS)",
  "LL128 off": "without LL128",
  "only LL": "with LL alone",
};
const HOST = "sockets, or memory of the host";
const isNvls = ({ algorithm }) => algorithm.startsWith("NVLS");

// All that the functions below look at: the curve, its machine, the model, what is known, and the verdict so far.
export function slowCauses(seen) {
  const { curve, place, model, known } = seen;
  const causes = [];
  const path = pathOf(seen);
  const fit = model.sizes.length && !path ? fitting(curve, model, known.limits) : null;
  if (path) causes.push(path);
  if (fit) causes.push(ofFit(seen, fit));
  else if (!path && isShort(seen)) {
    const why = "neither a setting nor PCIe explains it: a link, a clock, or another job beside it";
    causes.push(of(seen, "slow link", ofPlateau(seen, why)));
  } else if (!path && isLessOverSlots(seen)) {
    const why = "over PCIe that can be another pair of slots, fewer lanes, or the way through memory of the host";
    causes.push(of(seen, "wrong path", ofPlateau(seen, why), false));
  }
  if (model.sizes.length && !path && !fit && isAlone(place, curve.nranks ?? 0)) causes.push(...notWorthIt(seen));
  if (model.sizes.length && !path) causes.push(...hostBound(seen)); // a longer path has a longer start, too
  return causes.toSorted((one, other) => Number(other.accuses) - Number(one.accuses));
}

const of = ({ curve, known }, name, why, accuses = null) => cause(known, name, why, { ...programmed(curve), accuses });

// The bytes went another way, or a part of the way was not used: tables that reach large sizes tell.
function pathOf(seen) {
  const { curve, place, known } = seen;
  const nranks = curve.nranks ?? 0;
  if (curve.points.at(-1).nbytes < known.limits.large || nranks < 2) return null;
  if (place === null) return ofNobody(seen);
  if (!isAlone(place, nranks)) return network(seen);
  return place.shape === "switch" ? inside(seen) : overSlots(seen);
}

// Of a machine that is not known: slower than any.
function ofNobody(seen) {
  const { curve, known } = seen;
  const { busbw } = bestOf(curve);
  if (curve.hosts !== 1 || curve.nranks > 4 || busbw >= known.limits.old_slot / 4) return null;
  const why = `${bandwidthText(busbw)} on one host is less than a quarter of what even a slot of PCIe 3 passes one way`;
  return of(seen, "wrong path", `${why}: ${HOST}`);
}

// Of GPUs that PCIe joins.
function overSlots(seen) {
  const { curve, found, known } = seen;
  const { busbw } = bestOf(curve);
  const { trickle, half } = known.limits;
  const low =
    (found.line_rate !== null && busbw < trickle * found.line_rate) ||
    (found.plateau !== null && busbw < half * found.plateau);
  return low ? of(seen, "wrong path", ofPlateau(seen, HOST)) : null;
}

// Of GPUs that a switch joins.
function inside(seen) {
  const { curve, place, found, known } = seen;
  const { busbw } = bestOf(curve);
  const { slot, half } = known.limits;
  if (found.plateau === null) return unpublished(seen);
  if (!isShort(seen)) return null;
  if (place.slot && busbw <= slot * place.slot) {
    const why = `no more than a PCIe slot passes, ${bandwidthText(place.slot)} one way: not over NVLink`;
    return of(seen, "wrong path", ofPlateau(seen, why));
  }
  if (busbw >= half * found.plateau) return null;
  const why = "more than PCIe passes and less than half of NVLink: few channels, or few of the links";
  return of(seen, "few channels", ofPlateau(seen, why));
}

// Of a collective that nobody published and no formula tells, over a switch: only what a PCIe slot would pass is plain.
function unpublished(seen) {
  const { curve, place, found, known } = seen;
  const { busbw } = bestOf(curve);
  const { slot, links_decide: decide } = known.limits;
  if (!place.slot || busbw > slot * place.slot || !decide.includes(curve.collective)) return null;
  const share = found.line_rate_share ? `, ${percent(found.line_rate_share)} of the one-way line rate` : "";
  const why = `no more than a PCIe slot passes, ${bandwidthText(place.slot)} one way: not over NVLink`;
  return of(seen, "wrong path", `${bandwidthText(busbw)}${share}: ${why}`);
}

// Whether the best is far below the plateau: on one node, where the plateau is a published one.
function isShort({ curve, place, found, known }) {
  const { large, healthy } = known.limits;
  if (place === null || found.plateau === null || curve.points.at(-1).nbytes < large) return false;
  return isAlone(place, curve.nranks ?? 0) && place.shape === "switch" && bestOf(curve).busbw < healthy * found.plateau;
}

// Whether GPUs that PCIe joins are below the best that was published of as many: no fault, as the slots differ, but worth a look.
function isLessOverSlots({ curve, place, found, known }) {
  const { large, healthy } = known.limits;
  if (place === null || found.plateau === null || place.shape === "switch") return false;
  const isLong = isAlone(place, curve.nranks ?? 0) && curve.points.at(-1).nbytes >= large;
  return isLong && bestOf(curve).busbw < healthy * found.plateau;
}

// Between nodes: with how many ports does NCCL's own formula come nearest, and is it less than one?
function network(seen) {
  const { curve, place, found, known } = seen;
  const { healthy, half } = known.limits;
  const { busbw } = bestOf(curve);
  if (!portsOf(place) || found.plateau === null || busbw >= healthy * found.plateau) return null;
  const port = portsOf(place) / place.nics;
  if (busbw < half * port) {
    const why = `less than half of one port, ${bandwidthText(port)} one way: sockets, or staged in memory of the host`;
    return of(seen, "wrong path", ofPlateau(seen, why));
  }
  const count = portsInUse(seen);
  if (count === place.nics) return null;
  const why = `as NCCL's formula has it for ${count} of ${place.nics} ports of a node`;
  return of(seen, "too few NICs", ofPlateau(seen, `${why}; all of them without GPUDirect RDMA look alike`));
}

// The number of ports whose predicted time of the largest size is nearest.
function portsInUse({ curve, place, known }) {
  const { nbytes, seconds } = curve.points.at(-1);
  const off = [];
  for (let count = 1; count <= place.nics; count++) {
    try {
      const version = versionOf(curve, known);
      const choice = predict(known.nccl, curve.collective, nbytes, withPorts(place, count), curve.nranks, version);
      const ratio = choice.seconds / seconds;
      off.push([Math.max(ratio, 1 / ratio), count]);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
    }
  }
  return least(off, ([ratio]) => ratio)?.[1] ?? place.nics;
}

// A suspect's curve is the reader's. It is a remark where the model may be off: between nodes, and of a version's protocols.
function ofFit(seen, { name, misfit, sizes }) {
  const { curve, place, known } = seen;
  const alone = isAlone(place, curve.nranks ?? 0);
  const [first, last] = [nbytesText(sizes[0]), nbytesText(sizes.at(-1))];
  const off = `within ${percent(misfit)}, typically`;
  const why = `from ${first} to ${last} the times are those that NCCL would have ${WITHOUT[name]}, ${off}`;
  const version = versionOf(curve, known);
  if (alone && (name === "NVLS off" || curve.nccl === version)) return of(seen, name, why);
  const but = alone
    ? `but the text does not tell a version that is known here, and these are those of ${version}`
    : "but between nodes that is NCCL's own formula, which no table of this course has checked";
  return of(seen, name, `${why}; ${but}`, false);
}

// A remark for those who expected the switch to add, and whose largest size goes by a ring.
function notWorthIt(seen) {
  const { curve, model, known } = seen;
  const [last, { nbytes }] = [model.lines.at(-1), curve.points.at(-1)];
  const nvls = last.find(isNvls);
  if (curve.collective !== "all_reduce" || isNvls(last[0]) || nbytes < known.limits.large || !nvls) return [];
  const why =
    `on ${curve.nranks} GPUs NCCL takes the ring at ${nbytesText(nbytes)}: by its own formula` +
    ` the switch that adds (NVLS) would take ${fixed(nvls.raw / last[0].raw, 2)} times as long`;
  return [of(seen, "NVLS not worth it", why)];
}

// Small sizes all take the same, and much more than the published launch; what Simple alone does, too.
function hostBound(seen) {
  const { curve, model, known } = seen;
  const { nbytes, mine, known: there, times } = launch(curve, model);
  const { small, launches } = known.limits;
  if (nbytes > small || times < launches || model.lines.some(([one]) => one.corrected === null)) return [];
  const why =
    `no call is shorter than ${secondsText(mine)}, ${fixed(times, 1)} times the ${secondsText(there)} of the` +
    " published runs of this GPU: the processor that starts the kernels decides, not the links";
  const simple = "the whole curve is also that of Simple alone (NCCL_PROTO=Simple), whose start is as long";
  const alone = isSimpleAlone(curve, model, known.limits);
  return [of(seen, "host-bound", why), ...(alone ? [of(seen, "only Simple", simple)] : [])];
}

function ofPlateau({ curve, found }, why) {
  const share = found.plateau_share === null ? "" : `, ${percent(found.plateau_share)} of the plateau`;
  return `${bandwidthText(bestOf(curve).busbw)}${share}: ${why}`;
}
