// Which run a reader's choice leads to: what was chosen holds, of the rest as much as there is, in the order of the sentence.
import { ran } from "./words.mjs";

export const FIELDS = ["collective", "nranks", "gpu", "dtype", "ran"];
const ABOVE = { collective: [], nranks: ["collective", "gpu"], gpu: ["collective"] };
const WEIGHTS = { collective: 16, gpu: 8, nranks: 4, dtype: 2, ran: 1 };

export const valueOf = (run, field) => (field === "ran" ? ran(run) : (run[field] ?? "not stated"));

// The values that a choice offers: of runs that have what stands above it.
export function offered(runs, run, field) {
  const above = ABOVE[field] ?? ["collective", "gpu", "nranks", ...(field === "ran" ? ["dtype"] : [])];
  const same = runs.filter((one) => above.every((other) => valueOf(one, other) === valueOf(run, other)));
  return [...new Set(same.map((one) => valueOf(one, field)))];
}

const likeness = (one, run) =>
  FIELDS.reduce((sum, field) => sum + (valueOf(one, field) === valueOf(run, field) ? WEIGHTS[field] : 0), 0);

// The run that has the chosen value and is most like the one before; of equals the one with more sizes.
export function nearest(runs, run, field, value) {
  const fitting = runs.filter((one) => `${valueOf(one, field)}` === `${value}`);
  const rank = (one) => likeness(one, run) + Math.min(one.sizes.length, 99) / 100;
  return fitting.reduce((best, one) => (rank(one) > rank(best) ? one : best));
}

// For a further curve: the same with another NCCL, else the most like it of those not on show.
export function another(runs, shown) {
  const last = shown.at(-1);
  const free = runs.filter((one) => !shown.includes(one));
  const rank = (one) => likeness(one, last) + Math.min(one.sizes.length, 99) / 100;
  return free.reduce((best, one) => (rank(one) > rank(best) ? one : best));
}
