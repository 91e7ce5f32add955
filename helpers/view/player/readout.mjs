// The four figures under the picture: steps, time, bytes of the busiest rank, bus bandwidth.
import { eased, shown } from "./clock.mjs";
import { h } from "./dom.mjs";
import { timeAt } from "./model.mjs";
import { bandwidthText, nbytesText, secondsText } from "./units.mjs";

function figures(view, position) {
  const { cost, last, schedule } = view;
  const { step, state } = shown(position);
  const busiest = (at) => nbytesText(Math.max(...cost.sent[at].slice(0, schedule.nranks)));  // a switch is no rank
  const least = `least ${nbytesText(cost.least)}${schedule.nswitches ? " where only ranks add" : ""}`;
  return [
    ["Step", `${step}`, `of ${last}`],
    ["Time so far", secondsText(timeAt(cost, eased(position))), `of ${secondsText(cost.seconds)}, by the model`],
    ["Sent by the busiest rank", busiest(state), `of ${busiest(last)}; ${least}`],
    ["busbw of the whole", view.faults.length || !(cost.busbw < Infinity) ? "–" : bandwidthText(cost.busbw), `of ${bandwidthText(view.link.bandwidth)} one way per GPU`],
  ];
}

// -> { node, show(view, position) }
export function readout() {
  const node = h("dl", { class: "bim-readout" });
  const show = (view, position) => node.replaceChildren(...figures(view, position).map(([name, figure, note]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", {}, figure), h("span", {}, note)))));
  return { node, show };
}
