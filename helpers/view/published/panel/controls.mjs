// A sentence for each curve whose words can be changed; the slider of sizes; what the axis shows and what is drawn beside.
import { h } from "../../shared/page/dom.mjs";
import { tool } from "../../shared/page/tools.mjs";
import { FIELDS, offered, valueOf } from "../data/nearest.mjs";
import { colourOf } from "./chart.mjs";

const BEFORE = { collective: "", nranks: " on ", gpu: " ", dtype: ", ", ran: ", " };
const NAMES = { collective: "Collective", nranks: "Ranks", gpu: "GPU", dtype: "Type", ran: "Run" };
const SAID = { dtype: { "not stated": "type not stated" } };

export const chip = (letter) => h("span", { class: `bim-pub-chip ${colourOf(letter)}` }, letter);

function choice(widget, { letter, run }, field) {
  const now = valueOf(run, field);
  const options = offered(widget.runs, run, field).map((value) =>
    h("option", { value, selected: value === now }, SAID[field]?.[value] ?? `${value}`),
  );
  const select = h("select", { "aria-label": `${NAMES[field]} of ${letter}` }, options);
  select.addEventListener("change", () => widget.does.choose(letter, field, select.value));
  return [BEFORE[field], select];
}

export function sentences(widget) {
  const published = widget.curves.filter(({ run }) => run.key);
  return published.map((one) =>
    h(
      "p",
      { class: "bim-controls" },
      chip(one.letter),
      " ",
      FIELDS.map((field) => choice(widget, one, field)),
      published.length > 1 &&
        tool("take away", () => widget.does.drop(one.letter), {
          class: "bim-tool bim-pub-away",
          "aria-label": `take away ${one.letter}`,
        }),
    ),
  );
}

export function sizer(does) {
  const shown = h("strong", {});
  const range = h("input", { type: "range", min: 0, step: 1, "aria-label": "Size of a call" });
  range.addEventListener("input", () => does.place(+range.value));
  const show = (place, last, text) => {
    range.max = last;
    range.value = place;
    range.setAttribute("aria-valuetext", text);
    shown.textContent = text;
  };
  return { node: h("label", { class: "bim-slider" }, h("span", {}, "Read off at ", shown), range), show };
}

export function switches(does) {
  const axis = h(
    "select",
    { "aria-label": "What the axis shows", change: () => does.take({ axis: axis.value }) },
    h("option", { value: "busbw" }, "busbw"),
    h("option", { value: "time" }, "time"),
  );
  const box = (name, words) => {
    const input = h("input", { type: "checkbox", change: () => does.take({ [name]: input.checked }) });
    return { input, node: h("label", {}, input, ` ${words}`) };
  };
  const [model, line] = [box("model", "NCCL's model, dashed"), box("line", "a straight line, dotted")];
  const show = (s) => {
    axis.value = s.axis;
    model.input.checked = s.model;
    line.input.checked = s.line;
  };
  const node = h("p", { class: "bim-pub-switches" }, h("label", {}, "Show ", axis), model.node, line.node);
  return { node, show };
}
