// A block that is pointed at stands out, with what it is beside it; so do those of a row of the list, and the row of a block.
import { draw } from "../draw/easel.mjs";
import { inner } from "../draw/chart.mjs";
import { slotsOf } from "./list.mjs";
import { blockLines, rowLines, showTip } from "./tip.mjs";

const MOVES = { ArrowDown: 1, ArrowUp: -1 };

function repaint(widget) {
  widget.lighter ||= requestAnimationFrame(() => {
    widget.lighter = 0;
    draw(widget.parts, widget.ui);
  });
}

function lightRows({ ui, parts }) {
  for (const row of parts.listBody.querySelectorAll("tbody tr")) {
    const isLit = Boolean(ui.lit) && slotsOf(row).some((slot) => ui.lit.slots.has(slot));
    row.classList.toggle("bim-lit", isLit);
  }
}

function light(widget, slots, lines, x, y) {
  const { ui, parts } = widget;
  const isNew = !ui.lit || ui.lit.slots.size !== slots.length || !slots.every((slot) => ui.lit.slots.has(slot));
  if (isNew) ui.lit = { slots: new Set(slots) };
  showTip(parts.tip, lines, x, y, parts.stage.clientWidth);
  if (!isNew) return;
  lightRows(widget);
  repaint(widget);
}

export function unlight(widget) {
  const { ui, parts } = widget;
  parts.tip.hidden = true;
  if (!ui.lit) return;
  ui.lit = null;
  lightRows(widget);
  repaint(widget);
}

// The block under a pointer; slot -1: none.
export function lightBlock(widget, slot, { clientX, clientY }) {
  const { ui, parts } = widget;
  if (slot < 0 || widget.move.playing()) return unlight(widget);
  const { left, top } = parts.stage.getBoundingClientRect();
  light(widget, [slot], blockLines(ui.t, slot, ui), clientX - left, clientY - top);
}

// A row's blocks; what they are stands where the reader stands in the picture, over the curve.
function lightRow(widget, row) {
  const { ui, parts } = widget;
  const slots = slotsOf(row);
  if (!slots.length) return unlight(widget);
  const [{ canvas }] = parts.pictures;
  const box = inner(canvas.clientWidth, canvas.clientHeight);
  const x = canvas.offsetLeft + box.x + Math.min(1, Math.max(0, ui.axis.place(ui.at))) * box.w;
  const y = canvas.offsetTop + box.y + box.h * (1 - (ui.t.total[ui.at] ?? 0) / ui.top);
  light(widget, slots, rowLines(ui.t, slots, ui), x, y);
  row.setAttribute("aria-describedby", parts.tip.id);
}

// Of all rows one is a tab stop; arrow keys go on from it.
function step(row, by) {
  const next = by > 0 ? row.nextElementSibling : row.previousElementSibling;
  if (!next) return;
  row.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

export function lighting(widget) {
  const { listBody, root } = widget.parts;
  const rowOf = ({ target }) => target.closest("tbody tr");
  const on = (event) => {
    const row = rowOf(event);
    if (row) lightRow(widget, row);
  };
  const off = () => {
    const focused = listBody.querySelector("tbody tr:focus");
    if (focused) lightRow(widget, focused);
    else unlight(widget);
  };
  listBody.addEventListener("pointerover", on);
  listBody.addEventListener("focusin", on);
  listBody.addEventListener("pointerleave", off);
  listBody.addEventListener("focusout", () => unlight(widget));
  listBody.addEventListener("keydown", (event) => {
    const row = rowOf(event);
    if (!row || !MOVES[event.key]) return;
    event.preventDefault();
    step(row, MOVES[event.key]);
  });
  root.addEventListener("keydown", ({ key }) => key === "Escape" && unlight(widget));
}
