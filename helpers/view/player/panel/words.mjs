// What the player says of the moment: one schedule's step, beside a recorded run's, or how far two algorithms have come.
import { shown } from "../../shared/page/motion.mjs";
import { count, secondsText } from "../../shared/page/numbers.mjs";
import { place } from "../../shared/schedules/schedule.mjs";
import { sentence } from "../../shared/schedules/sentence.mjs";

const steps = (n) => count(n, "step");

// The same step by the model and in the run; which message was late, and by how much the step was.
function besides({ real, line, schedule }, step) {
  if (!real) return "";
  const over = (run) => secondsText(run.steps[step - 1].start + run.steps[step - 1].seconds);
  if (!step) return ` By the model it takes ${secondsText(line.seconds)}; the run took ${secondsText(real.seconds)}.`;
  const said = ` By the model this step is over after ${over(line)}; in the run it was after ${over(real)}.`;
  const { late, seconds } = real.steps[step - 1];
  if (!late) return said;
  const last = real.bars.filter((bar) => bar.step === step).reduce((a, b) => (b.recv[1] > a.recv[1] ? b : a));
  const model = line.steps[step - 1].seconds;
  const longer = model > 0 ? `, ${(seconds / model).toFixed(1)} times the model's` : "";
  return (
    `${said} Late: it took ${secondsText(seconds)}${longer}; ` +
    `last came what ${place(schedule, last.src)} sent to ${place(schedule, last.dst)}.`
  );
}

function progress({ schedule, last, line }, position) {
  const { state } = shown(position);
  return state === last
    ? `${schedule.algorithm} is done, after ${secondsText(line.seconds)}`
    : `${schedule.algorithm} has done ${state} of ${steps(last)}`;
}

// Who was first, and how much longer the other takes.
function winner(views) {
  const wrong = views.find(({ faults }) => faults.length);
  if (wrong) return `${wrong.schedule.algorithm}: ${sentence(wrong, wrong.last).end}`;
  const [first, second] = [...views].sort((a, b) => a.line.seconds - b.line.seconds);
  const ratio = second.line.seconds / first.line.seconds;
  if (!(ratio > 1.005)) return "Done: both promises are kept, after the same time.";
  const much = Number.isFinite(ratio) ? `, ${ratio.toFixed(ratio < 10 ? 2 : 0)} times as long` : "";
  return (
    `Done: both promises are kept; ${first.schedule.algorithm} was first, ` +
    `and ${second.schedule.algorithm} took ${secondsText(second.line.seconds)}${much}.`
  );
}

// -> { lead, text, end } as sentence() has it; positions: each schedule's own, seconds: the clock's
export function words(views, positions, seconds) {
  const [view] = views;
  if (views.length === 1) {
    const { step } = shown(positions[0]);
    const said = sentence(view, step);
    return { ...said, text: said.text + besides(view, step) };
  }
  const done = views.every(({ last }, i) => shown(positions[i]).state === last);
  if (!seconds && !done) {
    const needs = views.map(
      ({ schedule, last, line }) => `${schedule.algorithm} needs ${secondsText(line.seconds)} in ${steps(last)}`,
    );
    return { lead: "Start", text: `${sentence(view, 0).text} By the model, ${needs.join("; ")}.`, end: "" };
  }
  const text = `${views.map((one, i) => progress(one, positions[i])).join("; ")}.`;
  return { lead: `At ${secondsText(seconds)}`, text, end: done ? winner(views) : "" };
}
