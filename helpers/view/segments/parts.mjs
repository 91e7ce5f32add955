// The widget's fixed furniture: the sentence of controls, one column per way, words, transport, tools, the table twin.
import { h } from "../shared/page/dom.mjs";
import { nbytesText } from "../shared/page/numbers.mjs";
import { largest } from "./telling.mjs";

const MODES = [
  ["fixed", "segments of fixed size"],
  ["expandable", "expandable segments"],
  ["both", "both kinds of segments"],
];

export function controls(spec, mode, onMode) {
  const node = h(
    "select",
    { "aria-label": "Segments", change: () => onMode(MODES[node.selectedIndex][0]) },
    MODES.map(([value, text]) => h("option", { value, selected: value === mode }, text)),
  );
  const limit = spec.limit ? ` on ${nbytesText(spec.limit)}` : "";
  return h("p", { class: "bim-controls" }, `${spec.label}${limit}, `, node);
}

// Which colours occur, with their names.
export function legend(spec) {
  const used = [...new Set(spec.events.filter(([kind]) => kind === "+" || kind === "c").map((event) => event[3]))].sort(
    (a, b) => a - b,
  );
  const sample = (kind, text) => h("li", {}, h("i", { class: `bim-sample ${kind}` }), text);
  return h(
    "ul",
    { class: "bim-legend" },
    used.map((cls) => sample(`bim-fill bim-class-${cls}`, spec.classes[cls])),
    sample("bim-sample-free", "free block"),
    sample("bim-sample-gone", "not reserved"),
  );
}

export function column(view, both) {
  const picture = h("div", { class: "bim-view" });
  const chart = h("div", { class: "bim-view" });
  const figures = h("dl", { class: "bim-readout" });
  const title = view.expandable ? "Expandable segments" : "Segments of fixed size";
  return {
    picture,
    chart,
    figures,
    node: h("div", { class: "bim-way" }, both && h("p", { class: "bim-title" }, title), picture, chart, figures),
  };
}

const figure = (name, value, more) =>
  h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", {}, value), h("span", {}, more)));

// Allocated, reserved, and in how many pieces the difference lies.
export function figures([allocated, reserved], free) {
  const cached = reserved - allocated;
  const pieces = free.length
    ? `${free.length === 1 ? "one free block" : `${free.length} free blocks`}${largest(free)}`
    : "no free block";
  return [
    figure("Allocated", nbytesText(allocated), "blocks that hold a tensor (the area)"),
    figure("Reserved", nbytesText(reserved), `${nbytesText(cached)} more (the line): ${pieces}`),
  ];
}
