// The furniture that most widgets have: choices in a sentence, a slider over sizes, a legend, lines of words.
import { h } from "./dom.mjs";
import { nbytesText } from "./numbers.mjs";

export const said = (kind, more) => h("p", { class: kind, ...more });

// kinds: what a mark stands for, by its class without the bim- before it.
export const legend = (kinds, kind = "bim-legend") =>
  h(
    "p",
    { class: kind },
    Object.entries(kinds).map(([one, words]) => h("span", {}, h("i", { class: `bim-${one}` }), words)),
  );

// pick(value): one of what was offered last. -> { select, show(values, the chosen one, words(value)) }
export function chooser(name, pick) {
  const select = h("select", { "aria-label": name });
  const show = (offered, value, words = String) => {
    select.replaceChildren(...offered.map((one) => h("option", { value: one }, words(one))));
    select.value = value;
    select.onchange = () => pick(offered[select.selectedIndex]);
  };
  return { select, show };
}

// names: of each choice, by the part of the state that it changes.
export const choosers = (names, does) =>
  Object.fromEntries(
    Object.entries(names).map(([part, name]) => [part, chooser(name, (value) => does.take({ [part]: value }))]),
  );

// ends: powers of two.
export function sizer(does, [min, max]) {
  const shown = h("strong");
  const range = h("input", {
    type: "range",
    min,
    max,
    "aria-label": "Size of the message",
    input: () => does.take({ nbytes: 2 ** range.value }),
  });
  const show = (nbytes, words) => {
    range.value = Math.log2(nbytes);
    range.setAttribute("aria-valuetext", words);
    shown.textContent = nbytesText(nbytes);
  };
  return { shown, range, show };
}
