// What is alive at the chosen moment: rows that add up to the curve.
import { h } from "../../shared/page/dom.mjs";
import { row } from "../../shared/page/tools.mjs";
import { swatch } from "../draw/colours.mjs";
import { amount, thousands } from "../trace/amounts.mjs";
import { opOf, placeOf } from "../trace/lines.mjs";
import { grouped, matching } from "../trace/parts.mjs";
import { alive } from "../trace/store.mjs";
import { NOUNS } from "./telling.mjs";

const FEW = 40; // so many blocks are listed one by one at once
const PAGE = 200;
const held = new WeakMap(); // row -> the slots of its blocks

export const slotsOf = (line) => held.get(line) ?? [];

const count = (n, noun) => `${thousands(`${n}`)} ${noun}${n === 1 ? "" : "s"}`;

const named = (ink, name) => h("span", { class: "bim-class" }, swatch(ink), name);

function modulesText(modules) {
  const named = [...modules].filter(Boolean);
  return named.length === 1 ? named[0] : named.length ? count(named.length, "module") : "";
}

// A row that can be pointed at: its first is a tab stop, arrow keys go on from it.
function liveRow(words, slots, i) {
  const line = row("td", words);
  line.tabIndex = i ? -1 : 0;
  held.set(line, slots);
  return line;
}

// The words of a row: by class with who made it and where, or by the line that made it.
const wordsOf = ({ t, unit, unclassed, bands }, { cls, slots, nbytes, many, where }) => {
  const op = opOf(t, slots[0]);
  const mark = named(bands.ink(bands.of(t, slots[0], cls)), unclassed ? placeOf(op) : NOUNS[cls]);
  return [mark, amount(nbytes, unit), many, ...(unclassed ? [] : [op, where]), thousands(`${nbytes}`)];
};

// state: { mode: "auto" | "groups" | "blocks", filter, pages }; -> the table and its total, and whether there is more to show
export function listing(ui, { mode, filter, pages }) {
  const { t, at, unit, unclassed } = ui;
  const all = alive(t, at);
  const blocks = filter ? matching(t, all, filter) : all;
  const single = mode === "blocks" || (mode === "auto" && blocks.length <= FEW);
  const rows = single
    ? blocks
        .slice(0, PAGE * pages)
        .map(({ slot, made, id, ...one }) => ({ ...one, slots: [slot], many: `${id}`, where: t.module[made] }))
    : grouped(t, blocks).map((one) => ({
        ...one,
        many: thousands(`${one.slots.length}`),
        where: modulesText(one.modules),
      }));
  const sum = blocks.reduce((bytes, one) => bytes + one.nbytes, 0);
  const [first, ...by] = unclassed ? ["Line"] : ["Class", "Made by", "In"];
  const head = [first, unit, single ? "Block" : "Blocks", ...by, "Bytes"];
  const empty = by.map(() => "");
  const foot = row("td", ["In all", amount(sum, unit), thousands(`${blocks.length}`), ...empty, thousands(`${sum}`)]);
  const table = h(
    "table",
    { class: unclassed ? "bim-alive bim-by-line" : "bim-alive" },
    h("caption", { class: "bim-sr" }, `Alive after event ${thousands(`${at + 1}`)}`),
    h("thead", {}, row("th", head)),
    h(
      "tbody",
      {},
      rows.map((one, i) => liveRow(wordsOf(ui, one), one.slots, i)),
    ),
    h("tfoot", {}, foot),
  );
  const rest = single ? Math.max(0, blocks.length - PAGE * pages) : 0;
  const told = filter
    ? `${count(blocks.length, "block")} of ${thousands(`${all.length}`)} ${blocks.length === 1 ? "matches" : "match"}.`
    : `${count(all.length, "block")}, ${amount(t.total[at] ?? 0, unit)} ${unit}: exactly the height of the curve here.`;
  return { table, rest, told, single };
}
