// What can be chosen in words, and what the lists under the picture hold.
import { h } from "../../shared/page/dom.mjs";
import { tool } from "../../shared/page/tools.mjs";
import { swatch } from "../draw/colours.mjs";
import { amount, thousands, withUnit } from "../trace/amounts.mjs";
import { saidAt } from "../trace/store.mjs";
import { NOUNS } from "./telling.mjs";

const pick = (label, options, chosen, change) => {
  const select = h(
    "select",
    { "aria-label": label, change: () => change(select.value) },
    options.map(([value, text]) => h("option", { value, selected: `${value}` === `${chosen}` }, text)),
  );
  return select;
};

const named = (names) => names.map((name) => [name, name]);
const choice = (isThere, before, ...picked) => (isThere ? [before, pick(...picked)] : null);

// What the page talks about.
function first(ui, does) {
  const { names, traces, phases, timed, opened, files } = ui;
  const ranks = traces.map(([rank], i) => [i, `rank ${rank}`]);
  const parts = [[0, "everything"], ...phases.map(({ title }, p) => [p + 1, title])];
  const axes = [
    ["events", "event"],
    ["seconds", "time"],
  ];
  return [
    opened
      ? choice(files.size > 1, "of ", "Trace", named([...files.keys()]), opened, does.own)
      : choice(names.length > 1, "of ", "Trace", named(names), ui.show, (name) => does.show(name)),
    choice(traces.length > 1, "on ", "Rank", ranks, ui.rank, (value) => does.rank(Number(value))),
    choice(phases.length > 1, "during ", "Part", parts, ui.part, (value) => does.part(Number(value))),
    choice(timed, "by ", "Axis", axes, ui.axisMode, does.axis),
  ];
}

// A device's memory, or what the author or a snapshot gave.
function limits({ limit, given, devices, unit }) {
  const names = new Map([given, limit].filter(Boolean).map((nbytes) => [nbytes, []]));
  for (const [name, nbytes] of Object.entries(devices)) names.set(nbytes, [...(names.get(nbytes) ?? []), name]);
  const sized = (nbytes) => withUnit(nbytes, nbytes >= 4 * 2 ** 30 ? "GiB" : unit);
  const all = [...names].sort(([one], [other]) => one - other);
  return [[0, "any memory"], ...all.map(([nbytes, of]) => [nbytes, [sized(nbytes), ...of].join(", ")])];
}

// What a reader may ask for: only where it is asked for, or chosen already.
function rest(ui, does) {
  const { names, files, opened, show, rival, limit, given, colour, more } = ui;
  const others = [...(opened ? [] : names), ...files.keys()].filter((name) => name !== (opened || show));
  const against = [["", "nothing"], ...named(others)];
  const shown = limits(ui);
  const colours = [
    ["class", ui.unclassed ? "line" : "class"],
    ["block", "block"],
  ];
  const isLimited = shown.length > 1 && (more || limit !== given);
  return [
    choice(others.length && (more || rival), "against ", "Against", against, rival?.name ?? "", does.against),
    choice(isLimited, "within ", "Limit", shown, limit, (value) => does.limit(Number(value))),
    choice(more || colour !== "class", "coloured by ", "Colour", colours, colour, does.colour),
  ];
}

// "Memory of [Llama-2-7B] on [rank 0], [everything], by [event]": only what can be chosen.
export function controlsOf(ui, does) {
  if (!ui.t.n) return [];
  const parts = [...first(ui, does), ...rest(ui, does)].filter(Boolean);
  const how = { class: "bim-tool bim-more", "aria-expanded": `${ui.more}` };
  const more = tool(ui.more ? "Fewer" : "More", does.more_choices, how);
  const last = parts.length - 1; // a comma stays with the word before it
  const told = parts.flatMap(([before, select], p) => [
    before,
    h("span", { class: "bim-mt-choice" }, select, p < last && ","),
    " ",
  ]);
  return ["Memory ", ...told, more];
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

// The bands that a key names: lines of code, or classes that ever hold something.
const bandKeys = ({ bands, used, unclassed }) =>
  unclassed ? bands.names.map((name, b) => [b, name]) : used.map((cls) => [cls, NOUNS[cls]]);

// A key per band in the order of the stack, top first, with what it holds here in each of the pictures; then the sum, and what an
// allocator said of it. shown: the pictures, { t, at }; names: of the files, where there are two.
export function keysOf({ bands, unit, ...ui }, shown, names) {
  const held = shown.map(({ t, at }) => bands.at(t, [t.n ? at : -1])[0]);
  const said = shown.map(({ t, at }) => saidAt(t, at));
  const row = (kind, mark, name, numbers) =>
    h(
      "li",
      { class: kind },
      mark,
      h("span", { title: name }, name),
      numbers.map((nbytes, f) => h("strong", { title: names[f] }, amount(nbytes ?? 0, unit))),
    );
  const rows = bandKeys({ bands, ...ui })
    .reverse()
    .map(([b, name]) =>
      row(
        "",
        swatch(bands.ink(b)),
        name,
        held.map((bytes) => bytes[b]),
      ),
    );
  const sums = shown.map(({ t, at }) => t.total[at]);
  return [...rows, row("bim-mt-sum", h("i"), `in all, ${unit}`, sums), ...saidKeys(ui, said, row)];
}

// A snapshot's blocks are what is alive.
function saidKeys({ at, unclassed }, said, row) {
  if (!said[0]) return [];
  const when = said[0][0] !== at ? `, event ${thousands(`${said[0][0] + 1}`)}` : "";
  const line = (dash, name, part) =>
    row(
      "",
      h("i", { class: "bim-mt-line", style: `border-top-style: ${dash}` }),
      name + when,
      said.map((one) => one?.[part]),
    );
  return [...(unclassed ? [] : [line("dotted", "in blocks", 1)]), line("solid", "reserved", 2)];
}
