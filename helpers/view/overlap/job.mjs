// From what a reader asks to a step: tensors, their times, and the price of a ring, as jobs.py and asked.py. Tested equal.
import { fill, gathered, overlap, sum } from "./lanes.mjs";

export const NRANKS = 8;
const [WIDTH, FORWARD, BACKWARD] = [2, 2, 4];
const MIB = 2 ** 20;
export const ALL = 0; // one bucket for everything
export const BUCKETS = [...[1, 2, 4, 8, 16, 25, 50, 100, 200, 400, 800, 1536, 3072, 6144].map((n) => n * MIB), ALL];
export const PREFETCH = [0, 1, 2];

const repeated = (n, list) => Array.from({ length: n }, () => list);

// [seconds, bytes] of every tensor, in the order of backward; rate: operations a second.
export function backwards({ layers, first, block, last, tied }, tokens, rate) {
  const tensors = [...first, ...repeated(layers, block).flat(), ...last];
  const head = tied ? [[(BACKWARD * tied * tokens) / rate, 0]] : [];
  const own = tensors.toReversed().map(([numel, on]) => [(BACKWARD * numel * on * tokens) / rate, WIDTH * numel]);
  return [...head, ...own];
}

// The tables, every block, and the head with its norm.
export function units({ layers, first, block, last, tied }, tokens, rate) {
  const sizes = [first, ...repeated(layers, block), last];
  return sizes.map((tensors, place) => {
    const weights = sum(tensors.map(([numel, on]) => numel * on)) + (place === sizes.length - 1 ? tied : 0);
    const nbytes = WIDTH * sum(tensors.map(([numel]) => numel));
    return { forward: (FORWARD * weights * tokens) / rate, backward: (BACKWARD * weights * tokens) / rate, nbytes };
  });
}

// A ring of NRANKS GPUs by the cheapest protocol that the link knows, at what NCCL reaches of it; steps: 14 for an all_reduce, 7 for half.
export function secondsOf(link, steps) {
  const [lines, share] = [link.protocols ?? [link], NRANKS * (link.reached ?? 1)];
  const one =
    (nbytes) =>
    ({ call, alpha, bandwidth }) =>
      (call ?? 0) + steps * (alpha + nbytes / share / bandwidth);
  return (nbytes) => Math.min(...lines.map(one(nbytes)));
}

// A recorded step, as far as it is told in the same way as one that is computed; a unit of its times is 0.1 ms.
function recordedOf({ recorded }, name) {
  const { ranks, measured, predicted } = recorded.ways[name];
  return {
    ranks,
    measured,
    predicted,
    name: recorded.ways[name].name,
    label: `${recorded.label}; recorded ${recorded.date}.`,
  };
}

// The step of a spec. know: { models, rates }; links: by slug.
export function stepOf(s, know, links) {
  if (s.mode === "recorded") return recordedOf(know, s.way);
  const rate = (know.rates[s.gpu] * s.share) / 100;
  const [model, link] = [know.models[s.model], links.find(({ slug }) => slug === s.link)];
  if (s.mode === "units") return gathered(units(model, s.tokens, rate), s.prefetch, secondsOf(link, NRANKS - 1));
  const layers = backwards(model, s.tokens, rate);
  const [backward, all] = [sum(layers.map(([seconds]) => seconds)), sum(layers.map(([, nbytes]) => nbytes))];
  const buckets = fill(layers, s.bucket || all, backward / 2);
  const o = overlap(backward / 2 + backward, buckets, secondsOf(link, 2 * (NRANKS - 1)));
  return { ...o, buckets, forward: backward / 2 };
}

// What the slider goes over: the part of the spec, and its values.
export const placesOf = ({ mode }, know) =>
  ({
    buckets: ["bucket", BUCKETS],
    units: ["prefetch", PREFETCH],
    recorded: ["way", Object.keys(know.recorded.ways)],
  })[mode];

// The same step with every size of a bucket that is offered, or every prefetch: [{ s, o }]
export function othersOf(s, know, links) {
  const [key, places] = placesOf(s, know);
  const changes = places.map((place) => ({ [key]: place }));
  return changes.map((change) => ({ s: { ...s, ...change }, o: stepOf({ ...s, ...change }, know, links) }));
}
