// Parameters, gradients and the optimizer's numbers on one rank, as helpers.memory.closed_form.states has them.
import { operator, shared, term } from "./lists.mjs";

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
