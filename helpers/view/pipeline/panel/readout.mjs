// The figures under the picture: time, idle so far, the bubble as both shares beside its closed form, and the most that is held.
import { h } from "../../shared/page/dom.mjs";
import { percentOf } from "../../shared/page/numbers.mjs";
import { idleUntil } from "../timeline.mjs";
import { heldText, soFar, timeText } from "../words.mjs";

const closed = (run, words) =>
  run.wait === null ? "no closed form" : `closed form${run.times.hop ? " without hops" : ""} ${words()}`;

const figuresOf = (run) => {
  const idle = idleUntil(run, run.makespan);
  const { useful, wait, nranks, capacity } = run;
  return {
    all: [percentOf(idle, capacity), closed(run, () => percentOf(wait, useful + wait))],
    useful: [percentOf(idle, nranks * useful), closed(run, () => percentOf(wait, useful))],
    most: [
      heldText(run, Math.max(...run.peaks)),
      `microbatches, ${run.most === null ? "no closed form" : `closed form ${heldText(run, run.most)}`}`,
    ],
  };
};

// -> the cells of a list, one for each figure; of two schedules each has its own line in it
export function readout(runs, at, end) {
  const each = runs.map(figuresOf);
  const named = (i) => (runs[1] ? `${runs[i].title}, ` : "");
  const lines = (name) => each.map((own, i) => [own[name][0], named(i) + own[name][1]]);
  const cells = [
    ["Time", [[timeText(at), `of ${timeText(end)}`]]],
    ["Idle so far", runs.map((run, i) => [soFar(run, at), `${named(i)}of the ranks' time`])],
    ["Bubble, of all time", lines("all")],
    ["Bubble, of useful time", lines("useful")],
    ["Most held", lines("most")],
  ];
  const line = ([figure, note]) => h("dd", {}, h("strong", {}, figure), h("span", {}, note));
  return cells.map(([name, all]) => h("div", {}, h("dt", {}, name), all.map(line)));
}
