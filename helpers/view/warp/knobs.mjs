// The sliders and choices of each view, and what they say as a table.
import { h } from "../shared/page/dom.mjs";
import { banked, BRANCHES, issued, touched } from "./lanes.mjs";
import { ELEMENTS, MOST } from "./link.mjs";

export function slider(label, min, step, most, now, unit, onInput) {
  const value = h("output", {}, `${now}${unit}`);
  const range = h("input", {
    type: "range",
    min,
    step,
    max: most,
    value: now,
    "aria-label": label,
    "aria-valuetext": `${now}${unit}`,
    input: () => {
      value.textContent = `${range.value}${unit}`;
      range.setAttribute("aria-valuetext", value.textContent);
      onInput(Number(range.value));
    },
  });
  return h("label", { class: "bim-slider" }, h("span", {}, label), range, value);
}

export const pick = (label, values, chosen, onChange, text = String) => {
  const node = h(
    "select",
    { "aria-label": label, change: () => onChange(values[node.selectedIndex]) },
    values.map((value) => h("option", { value, selected: value === chosen }, text(value))),
  );
  return node;
};

// What can be changed in a view; built anew when the view changes, so that focus stays in a slider that moves.
export function knobs(s, take) {
  const change = (name) => (value) => take({ [name]: value });
  const stride = () => slider("Stride", 0, 1, MOST.stride, s.stride, "", change("stride"));
  if (s.view === "branch") {
    return [
      h("p", { class: "bim-controls" }, "Lanes part by ", pick("Branch", BRANCHES, s.branch, change("branch"))),
      slider("Steps in even arms", 1, 1, MOST.taken, s.taken, "", change("taken")),
      slider("Steps in odd arms", 1, 1, MOST.other, s.other, "", change("other")),
    ];
  }
  if (s.view === "banks") return [stride()];
  return [
    h(
      "p",
      { class: "bim-controls" },
      "Elements of ",
      pick("Bytes of an element", ELEMENTS, s.nbytes, change("nbytes")),
      " bytes",
    ),
    stride(),
    slider("Offset", 0, 4, MOST.offset, s.offset, " B", change("offset")),
  ];
}

// The picture in words: what every row of it shows.
export function rowsOf(s) {
  if (s.view === "branch")
    return [["Step", "Arm", "Lanes"], issued(s).map(({ branch, lanes }, i) => [i + 1, `${branch}`, lanes.join(", ")])];
  if (s.view === "banks")
    return [["Bank", "Words"], banked(s).map((words, bank) => [bank, words.join(", ") || "none"])];
  return [
    ["Line", "Sectors that move"],
    touched(s).lines.map((line) => [
      line,
      touched(s)
        .sectors.filter((at) => Math.floor(at / 4) === line)
        .map((at) => at % 4)
        .join(", "),
    ]),
  ];
}
