// What can be chosen in words, and what the lists under the picture hold.
import { h } from "../../shared/page/dom.mjs";
import { tokenOf } from "../draw/colours.mjs";
import { amount } from "../trace/amounts.mjs";
import { NOUNS } from "./telling.mjs";

const pick = (label, options, chosen, change) => {
  const select = h(
    "select",
    { "aria-label": label, change: () => change(select.value) },
    options.map(([value, text]) => h("option", { value, selected: `${value}` === `${chosen}` }, text)),
  );
  return select;
};

// "Memory of [Llama-2-7B] on [rank 0], [everything], by [event]": only what can be chosen.
export function controlsOf(ui, does) {
  const { names, traces, phases, timed } = ui;
  const parts = [
    names.length > 1 && [
      "of ",
      pick(
        "Trace",
        names.map((name) => [name, name]),
        ui.show,
        does.show,
      ),
    ],
    traces.length > 1 && [
      "on ",
      pick(
        "Rank",
        traces.map(([rank], i) => [i, `rank ${rank}`]),
        ui.rank,
        (value) => does.rank(Number(value)),
      ),
    ],
    phases.length > 1 && [
      "during ",
      pick("Part", [[0, "everything"], ...phases.map(({ title }, p) => [p + 1, title])], ui.part, (value) =>
        does.part(Number(value)),
      ),
    ],
    timed && [
      "by ",
      pick(
        "Axis",
        [
          ["events", "event"],
          ["seconds", "time"],
        ],
        ui.axisMode,
        does.axis,
      ),
    ],
  ].filter(Boolean);
  return parts.length ? ["Memory ", parts.flatMap((part, p) => [p ? ", " : "", ...part])].flat() : [];
}

// The list's table, how it is grouped, and what it adds up to.
export function fill({ listBody, listTold, listHead, more }, { table, told, rest, single }, change) {
  listBody.replaceChildren(table);
  listTold.textContent = told;
  more.hidden = !rest;
  const rows = pick(
    "Rows",
    [
      ["groups", "grouped"],
      ["blocks", "block by block"],
    ],
    single ? "blocks" : "groups",
    change,
  );
  const place = listHead.querySelector(".bim-mt-listing");
  if (place.firstChild?.value !== rows.value) place.replaceChildren(rows); // what is focused stays
}

// A key per class in the order of the stack, top first, with what it holds here.
export function keysOf(bytes, used, total, unit, unclassed) {
  const one = (cls, name, nbytes) =>
    h(
      "li",
      {},
      h("i", { class: "bim-swatch", style: `background: var(${cls})` }),
      h("span", {}, name),
      h("strong", {}, amount(nbytes, unit)),
    );
  const rows = unclassed
    ? [one("--bim-edge", "allocated", total)]
    : [...used].reverse().map((cls) => one(tokenOf(cls), NOUNS[cls], bytes[cls]));
  return [
    ...rows,
    h("li", { class: "bim-mt-sum" }, h("i"), h("span", {}, `in all, ${unit}`), h("strong", {}, amount(total, unit))),
  ];
}
