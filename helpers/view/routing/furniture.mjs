// What stands still: the question as a sentence with its choices, two sliders, the room for the picture, the words, tools.
import { choosers, h, said } from "../shared/page/dom.mjs";
import { times } from "../shared/page/numbers.mjs";
import { table, tool, tools, twin } from "../shared/page/tools.mjs";
import { CAPACITIES, encode, OFFERED, python } from "./link.mjs";
import { computed } from "./routes.mjs";

const NOTE =
  "The routes are made up: a skewed router gives some experts a head start. A copy is 4,096 numbers in bf16. A token framed in " +
  "red lost a copy, a crossed one all.";
const NAMES = { nranks: "Ranks", tokens: "Tokens of a rank", experts: "Experts", top_k: "Experts of a token" };

// values: what the places of the slider mean, from the left.
function slider(name, values, words, onInput) {
  const output = h("output", {});
  const range = h("input", {
    type: "range",
    min: 0,
    max: values.length - 1,
    step: 1,
    "aria-label": name,
    input: () => onInput(values[range.value]),
  });
  const show = (value) => {
    range.value = values.indexOf(value);
    output.textContent = words(value);
    range.setAttribute("aria-valuetext", words(value));
  };
  return { node: h("label", { class: "bim-slider" }, h("span", {}, name), range, output), show };
}

function numbers({ s, r }) {
  const head = ["From rank", ...times(s.nranks, (dst) => `to rank ${dst}`), "dropped"];
  const asked = s.tokens * s.top_k;
  const rows = r.matrix.map((row, src) => [`${src}`, ...row, asked - row.reduce((a, b) => a + b, 0)]);
  return table("Copies of tokens", head, [...rows, ["computed", ...computed(s, r), ""]]);
}

export function furniture(widget) {
  const { does } = widget;
  const all = choosers(NAMES, does);
  const sliders = {
    skew: slider("Skew of the router", OFFERED.skew, String, (skew) => does.take({ skew })),
    capacity: slider(
      "Capacity factor",
      CAPACITIES,
      (c) => (c ? `${c}` : "no limit"),
      (capacity) => does.take({ capacity }),
    ),
  };
  const parts = {
    choosers: all,
    sliders,
    stage: h("div", { class: "bim-view" }),
    sentence: said("bim-sentence"),
    compared: said("bim-compared"),
    notice: said("bim-notice", { role: "status" }),
    said: said("bim-sr", { "aria-live": "polite" }),
    proof: twin("The table of the all_to_all", () => numbers(widget)),
  };
  const { nranks, tokens, experts, top_k } = all;
  const ask = h(
    "p",
    { class: "bim-controls" },
    h("span", {}, nranks.select, " ranks with ", tokens.select, " tokens each, "),
    h("span", {}, experts.select, " experts, every token to ", top_k.select),
  );
  const both = h("div", { class: "bim-sliders" }, sliders.skew.node, sliders.capacity.node);
  const body = [ask, both, parts.sentence, parts.compared, parts.stage, h("p", { class: "bim-note" }, NOTE)];
  const under = tools(widget, encode, python, parts.notice);
  under.prepend(tool("Another batch", () => does.take({ seed: (widget.s.seed + 1) % OFFERED.seed.length })));
  const below = [under, parts.proof.node, parts.said];
  return {
    ...parts,
    root: h("div", { class: "bim-routing bim-widget" }, h("div", { class: "bim-body" }, body, below)),
  };
}
