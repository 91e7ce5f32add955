// On paper nothing moves: the segments at a few events on the way to the last, each as it is told.
import { h } from "../shared/page/dom.mjs";
import { times } from "../shared/page/numbers.mjs";
import { classesAt } from "./replay.mjs";
import { views } from "./show.mjs";
import { scales, strips } from "./strips.mjs";
import { telling } from "./telling.mjs";

const MOST = 4;
const [FEW, MANY] = [2, 8]; // where more segments than so many stand in each still, or two ways
const WIDE = 290;

// Events evenly apart, the last among them.
export const moments = (nevents, most = MOST) => [
  ...new Set(times(most, (i) => Math.ceil(((i + 1) * nevents) / most)).filter(Boolean)),
];

function still({ spec }, shown, at) {
  const { lead, texts } = telling(spec, shown, at);
  const classes = classesAt(spec.events, at);
  return h(
    "div",
    { class: "bim-still" },
    h("p", { class: "bim-title" }, `Event ${at}: ${lead}`),
    shown.map((view) => strips(view, spec, Math.min(at, view.ended ?? at), classes, WIDE)),
    h("p", { class: "bim-note" }, texts.join(" ")),
  );
}

// -> a node that only paper shows; the picture's own scale comes back after it
export function stills(widget) {
  const shown = views(widget);
  const before = shown.map((view) => view.scales);
  const common = scales(shown, WIDE);
  for (const view of shown) view.scales = common;
  const most = shown.length > 1 || shown[0].segments.length > MANY ? FEW : MOST;
  const drawn = moments(widget.spec.events.length, most).map((at) => still(widget, shown, at));
  shown.forEach((view, i) => Object.assign(view, { scales: before[i] }));
  const kind = most === FEW ? "bim-stills bim-stills-high" : "bim-stills";
  return h("div", { class: kind }, h("div", { class: "bim-stills-row" }, drawn));
}
