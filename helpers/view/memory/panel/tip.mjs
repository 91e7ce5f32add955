// What a block is: its size and class, the line that made it, or all of the stack where a snapshot kept it.
import { h, set } from "../../shared/page/dom.mjs";
import { thousands, withUnit } from "../trace/amounts.mjs";
import { NOUNS } from "./telling.mjs";

// What it counts as in the end: what a step makes is told apart later.
function classOf(t, slot) {
  const last = t.slot.findLastIndex((one, i) => one === slot && t.kind[i] !== 1);
  return NOUNS[t.cls[last]];
}

const numbered = (i) => thousands(`${i + 1}`);

// [words, ...] of one block
export function blockLines(t, slot, { unit, unclassed }) {
  const made = t.made[slot];
  const gone = t.slot.findIndex((one, i) => one === slot && t.kind[i] === 1);
  const stack = t.stacks?.[slot]?.length ? t.stacks[slot] : [t.op[made]];
  const where = [t.home[slot], t.phase[made]].filter(Boolean).join(", ");
  return [
    `${withUnit(t.nbytes[slot], unit)}${unclassed ? "" : `, ${classOf(t, slot)}`}`,
    ...stack.filter(Boolean),
    where && `in ${where}`,
    `block ${t.ids[slot]}, from event ${numbered(made)} ${gone < 0 ? "to the end" : `to ${numbered(gone)}`}`,
  ].filter(Boolean);
}

// [words, ...] of several blocks that a row of the list stands for
export function rowLines(t, slots, ui) {
  if (slots.length === 1) return blockLines(t, slots[0], ui);
  const sum = slots.reduce((bytes, slot) => bytes + t.nbytes[slot], 0);
  return [`${thousands(`${slots.length}`)} blocks, ${withUnit(sum, ui.unit)}`, t.op[t.made[slots[0]]]].filter(Boolean);
}

export const tipNode = (index) =>
  h("div", { class: "bim-mt-tip", role: "tooltip", id: `bim-mt-tip-${index}`, hidden: true });

// x, y: in the stage, px; above or below it, and never outside.
export function showTip(node, lines, x, y, width) {
  node.replaceChildren(...lines.map((words, l) => h(l ? "span" : "strong", {}, words)));
  node.hidden = false;
  const left = Math.min(Math.max(0, x - node.offsetWidth / 2), Math.max(0, width - node.offsetWidth));
  const over = y - node.offsetHeight - 14;
  set(node, { style: `left: ${Math.round(left)}px; top: ${Math.round(over < -40 ? y + 18 : over)}px` });
}
