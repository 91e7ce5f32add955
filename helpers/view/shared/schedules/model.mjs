// Everything that the views show, computed once per schedule, size and link.
import { times } from "../page/numbers.mjs";
import { columns } from "./cells.mjs";
import { price } from "./price.mjs";
import { faults, parse, replay } from "./schedule.mjs";
import { phases } from "./sentence.mjs";
import { modelled, recorded } from "./timeline.mjs";

// trace: { text, before, after, factor, promise }; link: { name, alpha, bandwidth }, with nodes as price() has them;
// real: a recorded run of the same schedule, where there is one.
export function compute(trace, nbytes, link, real) {
  const schedule = parse(trace.text);
  const run = replay(schedule, trace.before);
  const cost = price(schedule, nbytes, link, trace.factor);
  const places = schedule.nranks + schedule.nswitches;
  return {
    schedule,
    run,
    link,
    nbytes,
    after: trace.after,
    promise: trace.promise,
    cost,
    line: modelled(cost, places),
    real: real && { ...recorded(real, cost, places), told: real },
    columns: columns(schedule, trace.after, run),
    faults: faults(schedule, run, trace.after),
    names: phases(schedule, run),
    places,
    last: schedule.steps.length,
  };
}

// Changing a control keeps the step's meaning where it can: start stays start, the end stays the end, half way stays half way.
export const keepStep = (step, last, newLast) => (last ? Math.round((step / last) * newLast) : 0);

// The position in steps at a time, and back.
export function timeAt(cost, position) {
  const step = cost.steps[Math.min(cost.steps.length - 1, Math.floor(position))];
  return step ? step.start + step.seconds * (position - cost.steps.indexOf(step)) : 0;
}

export function positionAt(cost, seconds) {
  const index = cost.steps.findIndex((step) => seconds < step.start + step.seconds);
  if (index < 0) return cost.steps.length;
  const step = cost.steps[index];
  return index + Math.max(0, seconds - step.start) / step.seconds;
}

// Round numbers for an axis from 0 to `end`, at most `most` of them after the 0.
export function ticks(end, most) {
  if (!(end > 0)) return [0];
  const rough = end / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  return times(Math.floor(end / step + 1e-9) + 1, (i) => i * step);
}
