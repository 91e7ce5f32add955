// What stands there: both tables, what is said, where a number comes from.
import { table } from "../shared/page/tools.mjs";
import { origins, outcome, rowsText } from "./numbers.mjs";
import { choices, volumes } from "./panel/choice.mjs";
import { afterTable, beforeTable, refill, rove } from "./panel/matrix.mjs";
import { changed, first, fromSpec, specOf } from "./state.mjs";
import { cellOf, code, sentence, whence } from "./words.mjs";

const BESIDE = 18; // more columns than this are stacked on every screen

export function refuse(widget, text, rank, slot) {
  const where =
    rank === undefined ? widget.parts.text : widget.parts.before.body.querySelector(`[data-at="${rank},${slot}"]`);
  where.setAttribute("aria-invalid", "true");
  widget.parts.notice.textContent =
    `“${text}” cannot be read: a value is a number from −1,000,000 to 1,000,000, ` +
    `numbers stand apart by spaces, ranks by semicolons.`;
}

// Something changed: everything is computed again, and a kernel hears of it.
export function take(widget, s) {
  const { ui, move, parts, live } = widget;
  const same = ui.s && ["p", "nranks", "root", "length"].every((name) => s[name] === ui.s[name]);
  const light = same && s.op === ui.s.op;
  ui.s = s;
  ui.after = outcome(s);
  ui.cells = origins(s).map((slots, rank) => slots.map((_, slot) => cellOf(s, ui.after, rank, slot)));
  if (!same) ui.chosen = first(s, origins(s));
  move.halt();
  if (light) refill(parts.before.body, parts.after.body, s, ui.cells);
  else rebuild(widget);
  fill(widget);
  tell(widget, ui.chosen, true);
  if (live) share(widget);
}

function share(widget) {
  const { model, ui } = widget;
  if (JSON.stringify(model.get("spec")) === JSON.stringify(specOf(ui.s))) return;
  model.set("spec", specOf(ui.s));
  model.save_changes();
}

// New tables and controls. Where focus was, it stays.
function rebuild(widget) {
  const { ui, parts, primitives, does } = widget;
  const { s } = ui;
  const focus = [...parts.root.querySelectorAll("[data-at], select")].indexOf(document.activeElement);
  const out = Math.max(...ui.after.map((numbers) => numbers.length));
  parts.root.classList.toggle("bim-many", s.nranks > 8);
  const beside = Math.max(s.length, out) > 8 ? "bim-beside bim-uneven" : "bim-beside";
  parts.stage.className = `bim-halves ${s.length + out > BESIDE ? "" : beside}`;
  parts.stage.setAttribute("style", `--in:${s.length};--out:${out};--slots:${Math.max(s.length, out)}`);
  parts.controls.replaceChildren(choices(s, primitives, (change) => take(widget, changed(primitives, ui.s, change))));
  parts.before.title.textContent = s.p.name === "barrier" ? "Before: when a rank arrives, in ms" : "Before";
  parts.after.title.textContent = s.p.name === "barrier" ? "After: when it leaves, in ms" : "After";
  parts.before.body.replaceChildren(beforeTable(s, does));
  parts.after.body.replaceChildren(afterTable(s, ui.cells, does));
  rove(parts.before.body.firstChild, "0,0");
  rove(parts.after.body.firstChild, `${ui.chosen}`);
  [...parts.root.querySelectorAll("[data-at], select")][focus]?.focus({ preventScroll: true });
}

// What stands around the tables.
function fill(widget) {
  const { ui, parts, proof } = widget;
  const { s } = ui;
  parts.code.textContent = code(s, ui.after);
  parts.use.textContent = s.p.use;
  parts.volumes.replaceChildren(volumes(s, Math.max(...ui.after.map((numbers) => numbers.length))));
  parts.text.value = rowsText(s.rows);
  parts.text.removeAttribute("aria-invalid");
  parts.notice.replaceChildren();
  proof.refresh();
}

export function tell(widget, at, aloud) {
  const { ui, parts, move } = widget;
  const [rank, slot] = at;
  const words = sentence(ui.s, ui.after, at);
  parts.sentence.textContent = words;
  parts.overlay.point(move.moving() ? [] : ui.cells[rank][slot].from, at);
  if (aloud) parts.live.textContent = words;
}

export function provenance(widget) {
  const rows = widget.ui.cells.flatMap((slots, rank) =>
    slots.map(({ text, from }, slot) => [`rank ${rank}`, slot, text, whence(widget.ui.s, rank, from)]),
  );
  return table(
    `${widget.ui.s.p.name} on ${widget.ui.s.nranks} ranks`,
    ["Rank", "Slot", "holds afterwards", "from"],
    rows,
  );
}

export function open(widget, spec) {
  return take(widget, fromSpec(widget.primitives, spec));
}
