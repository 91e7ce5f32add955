// The four figures under the picture: steps, time, bytes of the busiest rank, bus bandwidth; of two algorithms, those of both.
import { h } from "../../shared/page/dom.mjs";
import { eased, shown } from "../../shared/page/motion.mjs";
import { bandwidthText, nbytesText, secondsText } from "../../shared/page/numbers.mjs";
import { timeAt } from "../../shared/schedules/model.mjs";
import { registers } from "../../shared/schedules/schedule.mjs";

const busiest = ({ cost, schedule }, at) => nbytesText(Math.max(...cost.sent[at].slice(0, schedule.nranks))); // a switch is no rank

const least = ({ cost, schedule }) =>
  `least ${nbytesText(cost.least)}${schedule.nswitches && !registers(schedule) ? " where only ranks add" : ""}`;

const busbw = (view) => (view.faults.length || !(view.cost.busbw < Infinity) ? "–" : bandwidthText(view.cost.busbw));

const network = ({ link }) =>
  `of ${bandwidthText(link.bandwidth)}${link.across ? ` inside, ${bandwidthText(link.across.bandwidth)} across,` : ""} one way per GPU`;

function figures([view], [position], seconds) {
  const { last, real, line, cost } = view;
  const by = cost.protocol ? ` with ${cost.protocol}` : "";
  const { step, state } = shown(position);
  const beside = real ? `; the run ${secondsText(timeAt(real, eased(position)))} of ${secondsText(real.seconds)}` : "";
  return [
    ["Step", `${step}`, `of ${last}`],
    ["Time so far", secondsText(seconds), `of ${secondsText(line.seconds)}${by}, by the model${beside}`],
    ["Sent by the busiest rank", busiest(view, state), `of ${busiest(view, last)}; ${least(view)}`],
    ["busbw of the whole", busbw(view), network(view)],
  ];
}

function both(views, positions, seconds) {
  const each = views.map((view, i) => {
    const { state } = shown(positions[i]);
    return [
      view.schedule.algorithm,
      `${state} of ${view.last}`,
      `steps; busiest rank sent ${busiest(view, state)}; busbw ${busbw(view)}`,
    ];
  });
  const ends = views.map(({ schedule, line }) => `${schedule.algorithm} ${secondsText(line.seconds)}`).join(", ");
  return [
    ["Time so far", secondsText(seconds), `of ${ends}`],
    ...each,
    ["Least for the busiest rank", nbytesText(views[0].cost.least), network(views[0])],
  ];
}

// -> { node, show(views, positions, seconds) }
export function readout() {
  const node = h("dl", { class: "bim-readout" });
  const show = (views, positions, seconds) =>
    node.replaceChildren(
      ...(views.length > 1 ? both : figures)(views, positions, seconds).map(([name, figure, note]) =>
        h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", {}, figure), h("span", {}, note))),
      ),
    );
  return { node, show };
}
