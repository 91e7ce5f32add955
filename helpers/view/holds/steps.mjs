// What was recorded, and what is said of a moment. As steps.py and widget.py, tested equal.
import { nbytesText } from "../shared/page/numbers.mjs";

export const NAMES = { ddp: "DDP", "zero-1": "ZeRO-1", "zero-2": "ZeRO-2", "zero-3": "ZeRO-3", fsdp2: "FSDP2" };
export const CLASSES = ["parameters", "gradients", "optimizer", "activations"];
const KEYS = [["phase", "what", "unit"], ["phase", "unit"], ["phase"]];
const OWN = "the rank keeps";
const SAID = {
  forward: (u, _, kept) => `Forward of layer ${u} is done. What its backward will need stays: ${kept} of activations.`,
  backward: (u) => `Backward of layer ${u} is done: its gradients are here, whole, and its activations are gone.`,
  all_gather: (u, n) =>
    `all_gather of layer ${u}'s parameters, ${n}: each rank gives the part it owns and gets the others'.`,
  reduce_scatter: (u, n) =>
    `reduce_scatter of layer ${u}'s gradients, ${n}: each rank gets the mean of the part it owns.`,
  all_reduce: (u, n) => `all_reduce of layer ${u}'s gradients, ${n}: every rank gets the mean of all of them.`,
  update: (u) => `The optimizer updates the part of layer ${u} that the rank owns.`,
  "update all": () => "The optimizer updates all parameters, the same on every rank.",
  "update shares": () => "The optimizer updates the part of every layer that the rank owns.",
  "free one": (u) =>
    `What forward used of layer ${u} is freed; the buffer of its all_gather stays until the next layer's are here.`,
  "free forward": (u) => `The others' parts of layer ${u}'s parameters are freed; ${OWN} its own.`,
  "free backward": (u) => `The buffers of layer ${u}'s gradients are freed; ${OWN} the part it owns.`,
  start: () => "Before the step: what a rank keeps from one step to the next.",
  end: () => "After the step: what a rank keeps from one step to the next.",
};

export const momentsOf = (known, way) => known.ways[way].moments;

export const ranksOf = (known, way) => momentsOf(known, way)[0].ranks.length;

export const peak = (known, way, rank) => Math.max(...momentsOf(known, way).map(({ ranks }) => ranks[rank].most));

const atOf = (known, way, at, rank) => momentsOf(known, way)[at].ranks[rank];

// Of every layer the bytes of CLASSES.
export const byClass = (known, way, at, rank) =>
  atOf(known, way, at, rank).held.map(([p, g, grad, r, o, a]) => [p + g, grad + r, o, a]);

const stateOf = (nbytes, whole) => (nbytes >= whole ? "whole" : nbytes ? "shard" : "absent");

// Of every layer how CLASSES are there.
export const states = (known, way, at, rank) =>
  atOf(known, way, at, rank).held.map(([p, gathered, grad, , optimizer, activation], unit) => {
    const whole = known.ways[way].whole[unit];
    const sizes = [
      [Math.max(p, gathered), whole],
      [grad, whole],
      [optimizer, 2 * whole],
    ];
    return [...sizes.map(([n, all]) => stateOf(n, all)), activation ? "kept" : "absent"];
  });

// The moment of another way that stands for this one.
export function matched(known, way, at, other) {
  const here = momentsOf(known, way)[at];
  for (const keys of KEYS) {
    const found = momentsOf(known, other).findLastIndex((one) => keys.every((key) => one[key] === here[key]));
    if (found >= 0) return found;
  }
  return 0;
}

function kindOf(known, way, { what, unit, phase, ranks: [{ held }] }) {
  if (what === "free") return held[unit][1] ? "free one" : `free ${phase}`;
  if (what !== "update" || unit >= 0) return what;
  return held[0][0] === known.ways[way].whole[0] ? "update all" : "update shares";
}

export function deed(known, way, at) {
  const moment = momentsOf(known, way)[at];
  const { unit, call, ranks } = moment;
  const kept = unit < 0 ? "" : nbytesText(ranks[0].held[unit][5]);
  return SAID[kindOf(known, way, moment)](unit, call ? nbytesText(call.nbytes) : "", kept);
}

export function lead(known, way, at) {
  const all = momentsOf(known, way);
  const { phase } = all[at];
  const told = phase === "start" || phase === "end" ? "" : `, ${phase}`;
  return `${NAMES[way]}, moment ${at + 1} of ${all.length}${told}.`;
}

export function holding(known, way, at, rank) {
  const { total, most } = atOf(known, way, at, rank);
  const said = `Rank ${rank} holds ${nbytesText(total)}`;
  if (most !== peak(known, way, rank)) return `${said}.`;
  return `${said}; on the way here it was ${nbytesText(most)}, the most of the step.`;
}

// [the moment's name, what is said of it].
export function words(known, { way, beside, at, rank }) {
  const said = [deed(known, way, at), holding(known, way, at, rank)];
  if (beside) {
    const there = matched(known, way, at, beside);
    said.push(lead(known, beside, there), holding(known, beside, there, rank));
  }
  return [lead(known, way, at), said.join(" ")];
}
