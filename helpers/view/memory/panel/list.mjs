// What is alive at the chosen moment: rows that add up to the curve.
import { h } from "../../shared/page/dom.mjs";
import { row } from "../../shared/page/tables.mjs";
import { tokenOf } from "../draw/colours.mjs";
import { amount, thousands } from "../trace/amounts.mjs";
import { grouped, matching } from "../trace/parts.mjs";
import { alive } from "../trace/store.mjs";
import { NOUNS } from "./telling.mjs";

const FEW = 40; // so many blocks are listed one by one at once
const PAGE = 200;
const held = new WeakMap(); // row -> the slots of its blocks

export const slotsOf = (line) => held.get(line) ?? [];

const count = (n, noun) => `${thousands(`${n}`)} ${noun}${n === 1 ? "" : "s"}`;

function named(cls, unclassed) {
  if (unclassed) return "allocated";
  return h(
    "span",
    { class: "bim-class" },
    h("i", { class: "bim-swatch", style: `background: var(${tokenOf(cls)})` }),
    NOUNS[cls],
  );
}

function modulesText(modules) {
  const named = [...modules].filter(Boolean);
  return named.length === 1 ? named[0] : named.length ? count(named.length, "module") : "";
}

// A row that can be pointed at: its first is a tab stop, arrow keys go on from it.
function liveRow({ words, slots }, i) {
  const line = row("td", words);
  line.tabIndex = i ? -1 : 0;
  held.set(line, slots);
  return line;
}

// state: { mode: "auto" | "groups" | "blocks", filter, pages }; -> the table and its total, and whether there is more to show
export function listing(t, at, { mode, filter, pages }, { unit, unclassed }) {
  const all = alive(t, at);
  const blocks = filter ? matching(t, all, filter) : all;
  const single = mode === "blocks" || (mode === "auto" && blocks.length <= FEW);
  const rows = single
    ? blocks.slice(0, PAGE * pages).map(({ slot, id, nbytes, cls, made }) => ({
        slots: [slot],
        words: [
          named(cls, unclassed),
          amount(nbytes, unit),
          `${id}`,
          t.op[made],
          t.module[made],
          thousands(`${nbytes}`),
        ],
      }))
    : grouped(t, blocks).map(({ cls, op, modules, slots, nbytes }) => ({
        slots,
        words: [
          named(cls, unclassed),
          amount(nbytes, unit),
          thousands(`${slots.length}`),
          op,
          modulesText(modules),
          thousands(`${nbytes}`),
        ],
      }));
  const sum = blocks.reduce((bytes, one) => bytes + one.nbytes, 0);
  const head = ["Class", unit, single ? "Block" : "Blocks", "Made by", "In", "Bytes"];
  const foot = row("td", ["In all", amount(sum, unit), thousands(`${blocks.length}`), "", "", thousands(`${sum}`)]);
  const table = h(
    "table",
    { class: "bim-alive" },
    h("caption", { class: "bim-sr" }, `Alive after event ${thousands(`${at + 1}`)}`),
    h("thead", {}, row("th", head)),
    h("tbody", {}, rows.map(liveRow)),
    h("tfoot", {}, foot),
  );
  const rest = single ? Math.max(0, blocks.length - PAGE * pages) : 0;
  const told = filter
    ? `${count(blocks.length, "block")} of ${thousands(`${all.length}`)} ${blocks.length === 1 ? "matches" : "match"}.`
    : `${count(all.length, "block")}, ${amount(t.total[at] ?? 0, unit)} ${unit}: exactly the height of the curve here.`;
  return { table, rest, told, single };
}
