// What stands beside a reader's curve: published runs, what NCCL's model says, and the plateau. As helpers/yours/beside.py.
import { predict } from "../../shared/nccl/predict.mjs";
import { ValueError } from "../../shared/nccl/refused.mjs";
import { releaseOf } from "../../shared/nccl/releases.mjs";
import { busFactor } from "./curves.mjs";
import { isAlone, portsOf } from "./places.mjs";
import { median } from "./texts.mjs";

const MODEL = "NCCL's model, as predict has it";

// As the clock shows them where a table covers it, else by NCCL's own formula.
export const secondsOf = ({ corrected, raw }) => corrected ?? raw;

// The text's version where its rules are known, else the latest that are.
export function versionOf({ nccl }, { nccl: model }) {
  try {
    releaseOf(model, nccl ?? model.model.latest);
  } catch (error) {
    if (error instanceof ValueError) return model.model.latest;
    throw error;
  }
  return nccl ?? model.model.latest;
}

const nothing = (why) => ({ sizes: [], lines: [], factor: 1, why });

// Candidates at every size; a model without sizes where NCCL's says nothing, and why.
export function modelOf(curve, place, known) {
  const { collective, nranks, points } = curve;
  if (place === null || collective === null || nranks === null)
    return nothing("the text does not say enough: a collective, a number of ranks and a machine are needed");
  if (!isAlone(place, nranks) && !portsOf(place))
    return nothing("the text does not say which network joins the nodes: name the machine");
  const sizes = points.map(({ nbytes }) => nbytes);
  const version = versionOf(curve, known);
  try {
    const lines = sizes.map((n) => predict(known.nccl, collective, n, place, nranks, version).candidates);
    return { sizes, lines, factor: busFactor(collective, nranks) || 1, why: "" };
  } catch (error) {
    if (error instanceof ValueError) return nothing(error.message);
    throw error;
  }
}

// What the model says of each size.
export const foretold = ({ sizes, lines, factor }) =>
  sizes.map((nbytes, at) => {
    const [{ algorithm, protocol }] = lines[at];
    const seconds = secondsOf(lines[at][0]);
    return { nbytes, seconds, busbw: (nbytes / seconds) * factor, algorithm, protocol };
  });

const alike = (curve) => (run) => run.collective === curve.collective && run.nranks === curve.nranks;

function isSameGpu({ gpu }, place, { nccl }) {
  return place !== null && (gpu === place.accelerator || gpu === nccl.platforms.like[place.accelerator]);
}

function isInOneDomain({ hosts, nranks }, place) {
  if (place === null) return hosts < 2;
  return isAlone(place, nranks ?? 0) && (hosts < 2 || place.domain > place.gpus);
}

// Published runs of the same collective and number of ranks: of the same GPU first, then those whose times are nearest.
// All are of GPUs in one domain, so none stands beside a table from between nodes.
export function nearest(curve, place, known) {
  if (!isInOneDomain(curve, place)) return [];
  const beside = known.published
    .filter(alike(curve))
    .map((run) => ({ other: Number(!isSameGpu(run, place, known)), run: besideOf(curve, run) }));
  const far = ({ run }) => (run.typical ? Math.abs(Math.log(run.typical)) : Infinity);
  const before = (one, other) =>
    one.other - other.other || (far(one) < far(other) ? -1 : Number(far(one) > far(other)));
  return beside
    .toSorted(before)
    .slice(0, known.limits.shown)
    .map(({ run }) => run);
}

// A published run's points, with their busbw.
function pointsOf({ collective, nranks, points }) {
  const factor = busFactor(collective, nranks) || 1;
  return points.map(([nbytes, seconds]) => ({ nbytes, seconds, busbw: (nbytes / seconds) * factor }));
}

function besideOf({ points: mine }, run) {
  const points = pointsOf(run);
  const there = new Map(points.map(({ nbytes, seconds }) => [nbytes, seconds]));
  const ratios = mine
    .filter(({ nbytes }) => there.has(nbytes))
    .map(({ nbytes, seconds }) => [nbytes, seconds / there.get(nbytes)]);
  const typical = ratios.length ? median(ratios.map(([, ratio]) => ratio)) : null;
  return { title: run.title, url: run.url, points, ratios, typical };
}

// [busbw, of what]: the best published one at sizes up to the reader's largest; the model's where nobody published one.
export function plateau(curve, place, model, known) {
  if (place === null) return null;
  const largest = curve.points.at(-1).nbytes;
  const runs = known.published.filter(alike(curve)).filter((run) => isSameGpu(run, place, known));
  const reached = runs.flatMap((run) =>
    pointsOf(run).map(({ nbytes, busbw }) => ({ nbytes, busbw, title: run.title })),
  );
  let found = reached.filter(({ nbytes }) => nbytes <= largest).map(({ busbw, title }) => [busbw, title]);
  if (!found.length || !isAlone(place, curve.nranks ?? 0)) found = foretold(model).map(({ busbw }) => [busbw, MODEL]);
  return found.reduce((best, one) => (best === null || isMore(one, best) ? one : best), null);
}

const isMore = ([busbw, of], [than, thanOf]) => busbw > than || (busbw === than && of > thanOf);
