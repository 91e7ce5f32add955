// Under the slider of microbatches: the bubble with each number of them, and where it is half as large.
import { percentOf } from "../../shared/page/numbers.mjs";
import { canvas, rect } from "../../shared/page/shapes.mjs";
import { idleUntil } from "../timeline.mjs";

const HIGH = 34;

export const shareOf = (run) => idleUntil(run, run.makespan) / run.capacity;
const overOf = (run) => idleUntil(run, run.makespan) / (run.nranks * run.useful);

// The first of the alternatives from the one on show on whose share is at most half of its, or undefined.
function halved(all, now, of) {
  const half = of(all[now]) / 2 + 1e-12;
  return all.slice(now).find((run) => of(run) <= half);
}

const place = (all, nmicrobatches) => all.findIndex((run) => run.nmicrobatches === nmicrobatches);

// all: alternatives() of state.mjs; width: that of the slider's way
export function sharesStrip(all, nmicrobatches, width) {
  const now = place(all, nmicrobatches);
  const half = halved(all, now, shareOf);
  const most = Math.max(...all.map(shareOf), 1e-9);
  const step = width / Math.max(1, all.length - 1);
  const bar = Math.max(2, Math.min(16, step * 0.7));
  const of = (run) => (run === all[now] ? "bim-here" : run === half ? "bim-halved" : "");
  const bars = all.map((run, i) => {
    const high = Math.max(1, (shareOf(run) / most) * HIGH);
    return rect(`bim-share ${of(run)}`, i * step - bar / 2 + 8, HIGH - high, bar, high);
  });
  return canvas(
    "bim-shares",
    width + 16,
    HIGH,
    "The bubble, as a share of all time, by the number of microbatches",
    bars,
  );
}

// "With 8 microbatches ... half of that ..."
export function sharesText(all, nmicrobatches) {
  const now = place(all, nmicrobatches);
  const run = all[now];
  const idle = idleUntil(run, run.makespan);
  if (!idle) return "Nothing is idle: there is no bubble.";
  const said = (of) => halved(all, now, of)?.nmicrobatches;
  const [share, over] = [said(shareOf), said(overOf)];
  const told = (found) =>
    found ? `from ${found} microbatches on` : `with no number up to ${all.at(-1).nmicrobatches}`;
  const [a, b] = [percentOf(idle, run.capacity), percentOf(idle, run.nranks * run.useful)];
  const halves = `Half of ${a} of all time: ${told(share)}. Half of ${b} of the useful time: ${told(over)}.`;
  return `Bars: the bubble by the number of microbatches. ${halves}`;
}
