// What stands in memory at a moment, term by term: the same as helpers/memory/closed_form, tested equal. A moment is a row of its MOMENTS.
import { count, operator, padded, spell, states, term } from "./lists.mjs";

const OUTSIDE = "embedding, final norm and head";

// Elements by the names that stand in a moment's row.
export function numbersOf({ rank, s }) {
  const [block, rest] = [rank.block, rank.rest].map((n) => padded(n, s.data));
  const { all, again } = rank.named;
  const [kept, before] = s.checkpoint === "full" ? [again, 0] : [all, all];
  return { ...rank.named, kept, before, block, rest };
}

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
  if (!moment.blocks) return [];
  const { lists, layers } = c.model;
  const [share, more] = moment.blocks;
  const name = c.s.checkpoint === "full" ? "block inputs" : "blocks";
  const blocks = blockTerm(c, c.kept, name, share * layers + more);
  const around = c.forms.around.map(([one, stays], i) => {
    const listed = c.listed(lists.around[i]);
    const { formula } = listed.reduce((a, b) => (b.nbytes > a.nbytes ? b : a));
    return (moment.around || stays) && term(one, "activation", formula, listed, 1, lists.around[i].at(-1)[7]);
  });
  return [blocks, ...around.filter(Boolean), ...again(c, moment)];
}

// All of a block, or what selective checkpointing did not keep.
function again(c, moment) {
  const name = "one block, computed again";
  const missing = c.whole.filter((item) => !c.kept.includes(item));
  if (moment.computes !== "mlp" || !missing.length) return [];
  if (c.s.checkpoint === "full") return [blockTerm(c, c.whole, name, 1)];
  const listed = c.listed(missing);
  return [term(name, "activation", formulas(listed), listed, 1, "korthikanti")];
}

// As many gradients as backward has made, unless a buffer keeps them all.
export function held(c, moment) {
  const all = c.s.zero || moment.computes === "optimizer" || c.s.precision === "bf16-fp32grads";
  const words = "an element for each parameter that backward has reached";
  return states(c.units, c.s, c.forms).map((one) => {
    if (one.cls !== "gradient" || all) return one;
    const done = c.numbers[moment.made];
    const width = c.forms.states[c.s.precision].gradients;
    const part = `${Math.round((100 * done) / count(c.units))}%`;
    const listed = [operator(one.name, words, "P", width, 1, width * done, one.source)];
    return term(one.name, one.cls, `${width} P, of ${part}`, listed, 1, one.source);
  });
}

// Autocast's 16-bit copies of weights: all until forward ends, then those that a backward still to come will read.
export function cast(c, moment) {
  if (c.s.precision !== "autocast" || !moment.blocks) return [];
  const n = moment.cast.reduce((sum, name) => sum + c.numbers[name], 0);
  const words = "a copy of each weight that a matrix multiplication reads";
  const listed = [operator("autocast", words, "P", 2, 1, 2 * n)];
  return [term("16-bit copies of weights", "activation", "2 P", listed, 1, "torch-autocast")];
}

// Under ZeRO-3 the whole weights of what computes and of the block that comes next; from ZeRO-2 on gradients not yet reduced.
export function gathered(c, moment) {
  if (c.s.zero < 2) return [];
  const { parameters, gradients } = c.forms.states[c.s.precision];
  const { block, rest } = c.numbers;
  const whole = (name, cls, width, all) => {
    const listed = all
      .filter(([, n]) => n)
      .map(([text, n]) => operator(text, "whole", "P", width, 1, width * n, "zero"));
    return term(name, cls, `${width} P of ${listed.map((one) => one.name).join(" and ")}`, listed, 1, "zero");
  };
  const blocks = Math.min(moment.whole, c.model.layers);
  const weights = [
    [["", "a block", "two blocks"][blocks], blocks * block],
    [OUTSIDE, moment.whole !== null && rest],
  ];
  const going = [[moment.going === "rest" ? OUTSIDE : "a block", c.numbers[moment.going]]];
  return [
    ...(c.s.zero === 3 ? [whole("gathered weights", "communication", parameters, weights)] : []),
    whole("unreduced gradients", "gradient", gradients, [["what backward has made", c.numbers[moment.left]]]),
    whole("gradients on their way", "communication", gradients, going),
  ];
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

export function flickering(c, { computes }) {
  if (!computes) return [];
  const { forms, model, s } = c;
  const gone = (items) => c.listed(items).map((one) => ({ ...one, nbytes: -one.nbytes }));
  const listed = {
    optimizer: optimizer(c),
    forward: c.listed(s.precision === "fp32" ? forms.forward.slice(0, 1) : forms.forward),
    loss: c.listed(forms.loss),
    mlp: [...c.listed(model.lists.mlp), ...gone(model.lists.freed)],
  }[computes];
  const formula = formulas(listed.filter(({ nbytes }) => nbytes > 0));
  return [term("temporaries", "temporary", formula, listed, 1, computes === "optimizer" ? "torch-optim" : "")];
}
