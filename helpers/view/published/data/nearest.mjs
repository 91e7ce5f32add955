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
  const values = [...new Set(same.map((one) => valueOf(one, field)))];
  return field === "nranks" ? values.sort((a, b) => a - b) : values;
}

const likeness = (one, run) =>
  FIELDS.reduce((sum, field) => sum + (valueOf(one, field) === valueOf(run, field) ? WEIGHTS[field] : 0), 0);

// Of equals the one with more sizes; null where there is none to choose from.
function mostLike(runs, run) {
  const rank = (one) => likeness(one, run) + Math.min(one.sizes.length, 99) / 100;
  return runs.reduce((best, one) => (best && rank(best) >= rank(one) ? best : one), null);
}

// The run that has the chosen value and is most like the one before.
export const nearest = (runs, run, field, value) =>
  mostLike(
    runs.filter((one) => `${valueOf(one, field)}` === `${value}`),
    run,
  );

// For a further curve: the one most like the last, as a rule the same with another NCCL.
export const another = (runs, shown) =>
  mostLike(
    runs.filter((one) => !shown.includes(one)),
    shown.at(-1),
  );
