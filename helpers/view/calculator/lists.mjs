// A list of kept tensors, as Python hands it over, in bytes and as one formula; parameters, gradients and the optimizer's numbers on one
// rank, as helpers.memory.closed_form.states has them.

// Sides are symbols, [name, keeps, shape, role, split, core, readers, source].
const sidesOf = ([, , shape]) => shape.split(" ");

const numel = (shape, values) => shape.split(" ").reduce((product, symbol) => product * values[symbol], 1);

const shared = (n, over) => Math.ceil(n / over);

const over = (split, { tensor, sequence }) => (split === "tensor" || (split === "sequence" && sequence) ? tensor : 1);

// Under autocast each matrix multiplication that reads a tensor makes a copy of its own.
const copied = (items, precision) => items.flatMap((item) => Array(precision === "autocast" ? item[6] : 1).fill(item));

// "2 b s h / 8"
const written = (width, shape, among) => `${width} ${shape}${among > 1 ? ` / ${among}` : ""}`;

export const operator = (name, keeps, shape, width, among, nbytes, source = "") => ({
  name,
  keeps,
  formula: written(width, shape, among),
  nbytes,
  source,
});

// s: the choice; values: what the symbols stand for -> [{ name, keeps, formula, nbytes, source }]
export function operators(items, values, s, widths) {
  return copied(items, s.precision).map(([name, keeps, shape, role, split, , , source]) => {
    const [width, among] = [widths[s.precision][role], over(split, s)];
    return operator(name, keeps, shape, width, among, width * shared(numel(shape, values), among), source);
  });
}

// A shape without its sequences and, once, its tokens.
function apartFromTokens(item) {
  const left = sidesOf(item).filter((symbol) => symbol !== "b");
  const at = left.indexOf("s");
  return left.filter((_, i) => i !== at).join(" ");
}

// "12 + 4 g + 8 r": bytes for each b s h, collected from the list. numbers: symbols that the paper writes as numbers.
export function spell(items, numbers, s, { widths, ratios }) {
  const names = new Map(ratios);
  const added = new Map();
  for (const item of copied(items, s.precision)) {
    const ratio = names.get(apartFromTokens(item));
    if (ratio === undefined) continue; // a number a token, a head or an expert
    const key = `${ratio in numbers ? "" : ratio}|${over(item[4], s) > 1 ? "/t" : ""}`;
    added.set(key, (added.get(key) ?? 0) + (numbers[ratio] ?? 1) * widths[s.precision][item[3]]);
  }
  const order = [...names.values()];
  const rank = (key) => [order.indexOf(key.split("|")[0]), key.split("|")[1]];
  const keys = [...added.keys()].sort((a, b) => rank(a)[0] - rank(b)[0] || rank(a)[1].localeCompare(rank(b)[1]));
  return keys
    .map((key) => {
      const [ratio, split] = key.split("|");
      return `${added.get(key)}${ratio ? " " : ""}${ratio}${split}`;
    })
    .join(" + ");
}

// { name, cls, formula, operators, times, source } with its bytes
export const term = (name, cls, formula, listed, times = 1, source = "") => ({
  name,
  cls,
  formula,
  operators: listed,
  times,
  source,
  nbytes: times * listed.reduce((sum, { nbytes }) => sum + nbytes, 0),
});

export const total = (terms) => terms.reduce((sum, { nbytes }) => sum + nbytes, 0);

const FROM = { optimizer: 1, gradient: 2, parameter: 3 }; // the lowest ZeRO stage that splits it

export const padded = (n, ranks) => shared(n, ranks) * ranks;

// units: [[parameters, how many units of that size]]
export const count = (units) => units.reduce((sum, [n, times]) => sum + n * times, 0);

function state(name, cls, width, units, { zero, data }, source) {
  const among = zero >= FROM[cls] ? data : 1;
  const n = units.reduce((sum, [size, times]) => sum + times * (zero ? padded(size, data) / among : size), 0);
  return term(
    name,
    cls,
    `${width} P${among > 1 ? ` / ${among}` : ""}`,
    [operator(name, "an element for each parameter", "P", width, among, width * n, source)],
    1,
    source,
  );
}

export function states(units, s, forms) {
  const { parameters, gradients, master, moments } = forms.states[s.precision];
  const source =
    s.zero || s.precision === "bf16" ? "zero" : s.precision === "bf16-true" ? "torch-optim" : "mixed-precision";
  const kept = [
    ["parameters", "parameter", parameters],
    ["gradients", "gradient", gradients],
    ...(master ? [["master weights", "optimizer", master]] : []),
    ...forms.optimizers[s.optimizer].map((name) => [name, "optimizer", moments]),
  ];
  return kept.map(([name, cls, width]) => state(name, cls, width, units, s, source));
}
