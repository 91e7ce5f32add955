// What stands in memory at a moment, term by term: the same as helpers/memory/closed_form, tested equal.
import { operator, spell, term } from "./lists.mjs";
import { count, padded, states } from "./states.mjs";

const AROUND = ["forward", "loss"]; // no block is in its backward
export const REDUCTIONS = ["reduction", "last reduction"]; // of ZeRO-2 and 3

const formulas = (listed) => [...new Set(listed.map((one) => one.formula))].join(" + ");

const blockTerm = (c, items, name, times) =>
  term(
    name,
    "activation",
    `L b s h (${spell(items, c.model.numbers, c.s, c.forms)})`,
    c.listed(items),
    times,
    "korthikanti",
  );

export function activations(c, moment) {
  if (["last reduction", "optimizer"].includes(moment)) return [];
  const { lists, layers } = c.model;
  const blocks = blockTerm(
    c,
    c.kept,
    c.s.checkpoint === "full" ? "block inputs" : "blocks",
    { "first block": 1, reduction: layers - 1 }[moment] ?? layers,
  );
  const around = [["positions", lists.start], ...["final norm", "head", "loss"].map((name) => [name, lists[name]])]
    .filter(([name]) => AROUND.includes(moment) || name === "positions")
    .map(([name, items]) => {
      const listed = c.listed(items);
      return term(
        name,
        "activation",
        listed.reduce((a, b) => (b.nbytes > a.nbytes ? b : a)).formula,
        listed,
        1,
        items.at(-1)[7],
      );
    });
  return [blocks, ...around, ...again(c, moment)];
}

// All of a block, or what selective checkpointing did not keep.
function again(c, moment) {
  const name = "one block, computed again";
  const missing = c.whole.filter((item) => !c.kept.includes(item));
  if (!moment.endsWith("block") || !missing.length) return [];
  if (c.s.checkpoint === "full") return [blockTerm(c, c.whole, name, 1)];
  const listed = c.listed(missing);
  return [term(name, "activation", formulas(listed), listed, 1, "korthikanti")];
}

// As many gradients as backward has made, unless a buffer keeps them all.
export function held(c, moment) {
  const all = c.s.zero || moment === "optimizer" || c.s.precision === "bf16-fp32grads";
  return states(c.units, c.s, c.forms).map((one) => {
    if (one.cls !== "gradient" || all) return one;
    const done = { "last block": c.rank.made[0], "first block": c.rank.made[1] }[moment] ?? 0;
    const width = c.forms.states[c.s.precision].gradients;
    const part = `${Math.round((100 * done) / count(c.units))}%`;
    return term(
      one.name,
      one.cls,
      `${width} P, of ${part}`,
      [
        operator(
          one.name,
          "an element for each parameter that backward has reached",
          "P",
          width,
          1,
          width * done,
          one.source,
        ),
      ],
      1,
      one.source,
    );
  });
}

// Autocast's 16-bit copies of weights: all until forward ends, then those that a backward still to come will read.
export function cast(c, moment) {
  if (c.s.precision !== "autocast" || ["last reduction", "optimizer"].includes(moment)) return [];
  const [blocks, block, head] = c.rank.cast;
  const rest = c.s.checkpoint !== "full" ? blocks : moment === "loss" ? 0 : block;
  const n = { forward: blocks + head, loss: rest + head, "last block": rest, reduction: rest, "first block": block }[
    moment
  ];
  return [
    term(
      "16-bit copies of weights",
      "activation",
      "2 P",
      [operator("autocast", "a copy of each weight that a matrix multiplication reads", "P", 2, 1, 2 * n)],
      1,
      "torch-autocast",
    ),
  ];
}

// Under ZeRO-3 the whole weights of what computes and of the block that comes next; from ZeRO-2 on gradients not yet reduced.
export function gathered(c, moment) {
  if (c.s.zero < 2 || moment === "optimizer") return [];
  const { parameters, gradients } = c.forms.states[c.s.precision];
  const whole = (name, cls, width, all) => {
    const parts = all.filter(([, n]) => n);
    return term(
      name,
      cls,
      `${width} P of ${parts.map(([text]) => text).join(" and ")}`,
      parts.map(([text, n]) => operator(text, "whole", "P", width, 1, width * n, "zero")),
      1,
      "zero",
    );
  };
  const [block, rest] = [padded(c.rank.block, c.s.data), padded(c.rank.rest, c.s.data)];
  const around = AROUND.includes(moment);
  const blocks = around || moment === "last reduction" ? 0 : moment === "first block" || c.model.layers === 1 ? 1 : 2;
  return [
    c.s.zero === 3 &&
      whole("gathered weights", "communication", parameters, [
        [["", "a block", "two blocks"][blocks], blocks * block],
        ["embedding, final norm and head", rest],
      ]),
    !around &&
      whole("unreduced gradients", "gradient", gradients, [
        ["what backward has made", c.rank.made[{ reduction: 2, "last reduction": 3 }[moment] ?? 0]],
      ]),
    REDUCTIONS.includes(moment) &&
      whole("gradients on their way", "communication", gradients, [
        moment === "reduction" ? ["a block", block] : ["embedding, final norm and head", rest],
      ]),
  ].filter(Boolean);
}

function optimizer({ s, rank, units, forms }) {
  const share = Math.max(...units.map(([n]) => padded(n, s.data))) / s.data;
  const [outside, inside] = s.zero ? [share, 0] : rank.largest;
  const { widened, root, corrected, before } = forms.copies;
  const { master, moments } = forms.states[s.precision];
  const first = s.precision === "bf16" ? [widened] : [];
  const copies = (texts, symbol, n) =>
    texts.map((text) => operator(s.optimizer, text, symbol, moments, 1, moments * n, "torch-optim"));
  if (s.optimizer === "adamw-fused") return [];
  if (s.optimizer === "sgd") return copies(first, "largest", Math.max(outside, inside));
  if (s.optimizer === "adamw-foreach") return copies([...first, root], "P", s.zero ? share : count(units));
  if (master) return copies([...first, root, corrected], "largest", Math.max(outside, inside));
  return 3 * inside > 2 * outside
    ? copies([root, corrected, before], "largest", inside)
    : copies([root, corrected], "largest", outside);
}

export function flickering(c, moment) {
  if (REDUCTIONS.includes(moment)) return [];
  const { forms, model, s } = c;
  const gone = (items) => c.listed(items).map((one) => ({ ...one, nbytes: -one.nbytes }));
  const listed =
    moment === "optimizer"
      ? optimizer(c)
      : moment === "forward"
        ? c.listed(s.precision === "fp32" ? forms.forward.slice(0, 1) : forms.forward)
        : moment === "loss"
          ? c.listed(forms.loss)
          : [...c.listed(model.lists.mlp), ...gone(model.lists.freed)];
  const formula = formulas(listed.filter(({ nbytes }) => nbytes > 0));
  return [term("temporaries", "temporary", formula, listed, 1, moment === "optimizer" ? "torch-optim" : "")];
}
