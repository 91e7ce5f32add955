// The widget's fixed furniture, built once: heading and badge, controls, picture and keys, transport, layers, list, tools.
import { h } from "../../shared/page/dom.mjs";
import { tokenOf } from "../draw/colours.mjs";
import { amount } from "../trace/amounts.mjs";
import { NOUNS } from "./telling.mjs";

const tool = (label, click) => h("button", { type: "button", class: "bim-tool", click }, label);

const pick = (label, options, chosen, change) => {
  const select = h("select", { "aria-label": label, change: () => change(select.value) }, options.map(([value, text]) => h("option", { value, selected: `${value}` === `${chosen}` }, text)));
  return select;
};

export function furniture(does, { live, bar, numbers }) {
  const [title, badge] = [h("strong"), h("span", { class: "bim-mt-badge" })];
  const controls = h("p", { class: "bim-controls" });
  const picture = h("canvas", { class: "bim-mt-picture", role: "img" });
  const keys = h("ol", { class: "bim-mt-keys", "aria-label": "Bytes by class at this moment" });
  const stage = h("div", { class: "bim-mt-stage", tabindex: "0", role: "group", "aria-label": "Memory over time: Space plays, arrow keys step, Home and End jump" }, picture);
  const ranks = h("div", { class: "bim-scroll bim-mt-ranks", tabindex: "0", role: "region", "aria-label": "Every rank at this moment" });
  const sentence = h("p", { class: "bim-sentence" });
  const bars = h("canvas", { class: "bim-mt-bars", role: "img" });
  const barText = h("p", { class: "bim-mt-note" });
  const barPanel = h("div", { class: "bim-mt-panel" }, h("p", { class: "bim-title" }, "Which layer holds how much?"), bars, barText);
  const [listHead, listTold, listBody] = [h("div", { class: "bim-mt-choose" }), h("p", { class: "bim-mt-note" }), h("div", { class: "bim-scroll", tabindex: "0", role: "region", "aria-label": "What is alive here" })];
  const search = h("input", { type: "search", class: "bim-mt-search", placeholder: "part of a name", "aria-label": "Show only blocks with this in their names", input: () => does.filter(search.value) });
  const more = tool("Show more", does.more);
  listHead.append(h("p", { class: "bim-title" }, "What is alive here?"), h("span", { class: "bim-mt-listing" }), search);
  const list = h("div", { class: "bim-mt-panel" }, listHead, listBody, h("div", { class: "bim-tools" }, listTold, more));
  const file = h("input", { type: "file", class: "bim-sr", tabindex: "-1", "aria-label": "A memory snapshot of PyTorch", accept: ".pickle,.pkl", change: () => { if (file.files[0]) does.open(file.files[0]); file.value = ""; } });
  const notice = h("p", { class: "bim-notice", role: "status" });
  const back = tool("Back to the course's trace", does.back);
  const tools = h("div", { class: "bim-tools" }, !live && tool("Copy link", does.copyLink), tool("Copy as Python", does.copyPython), tool("Open a PyTorch snapshot", () => file.click()), back, file, notice);
  const said = h("p", { class: "bim-sr", "aria-live": "polite" });
  const root = h("div", { class: "bim-mt bim-widget" }, h("div", { class: "bim-body" },
    h("div", { class: "bim-mt-heading" }, title, badge), controls, h("div", { class: "bim-mt-beside" }, stage, keys, ranks), bar, sentence, barPanel, list, tools, numbers, said));
  return { root, title, badge, controls, picture, keys, ranks, stage, sentence, bars, barText, barPanel, listHead, listTold, listBody, search, more, list, notice, back, said };
}

// "Memory of [Llama-2-7B] on [rank 0], [everything], by [event]": only what can be chosen.
export function controlsOf(ui, does) {
  const { names, traces, phases, timed } = ui;
  const parts = [
    names.length > 1 && ["of ", pick("Trace", names.map((name) => [name, name]), ui.show, does.show)],
    traces.length > 1 && ["on ", pick("Rank", traces.map(([rank], i) => [i, `rank ${rank}`]), ui.rank, (value) => does.rank(Number(value)))],
    phases.length > 1 && ["during ", pick("Part", [[0, "everything"], ...phases.map(({ title }, p) => [p + 1, title])], ui.part, (value) => does.part(Number(value)))],
    timed && ["by ", pick("Axis", [["events", "event"], ["seconds", "time"]], ui.axisMode, does.axis)],
  ].filter(Boolean);
  return parts.length ? ["Memory ", parts.flatMap((part, p) => [p ? ", " : "", ...part])].flat() : [];
}

// The list's table, how it is grouped, and what it adds up to.
export function fill({ listBody, listTold, listHead, more }, { table, told, rest, single }, change) {
  listBody.replaceChildren(table);
  listTold.textContent = told;
  more.hidden = !rest;
  const rows = pick("Rows", [["groups", "grouped"], ["blocks", "block by block"]], single ? "blocks" : "groups", change);
  const place = listHead.querySelector(".bim-mt-listing");
  if (place.firstChild?.value !== rows.value) place.replaceChildren(rows); // what is focused stays
}

// A key per class in the order of the stack, top first, with what it holds here.
export function keysOf(bytes, used, total, unit, unclassed) {
  const one = (cls, name, nbytes) => h("li", {}, h("i", { class: "bim-swatch", style: `background: var(${cls})` }), h("span", {}, name), h("strong", {}, amount(nbytes, unit)));
  const rows = unclassed ? [one("--bim-edge", "allocated", total)] : [...used].reverse().map((cls) => one(tokenOf(cls), NOUNS[cls], bytes[cls]));
  return [...rows, h("li", { class: "bim-mt-sum" }, h("i"), h("span", {}, `in all, ${unit}`), h("strong", {}, amount(total, unit)))];
}
