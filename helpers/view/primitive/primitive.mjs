// The widget `primitive`: ranks by slots before and after one call, with the reader's own numbers. Ties state and drawing together.
import { copy } from "../shared/page/link.mjs";
import { row, table, twin } from "../shared/page/tables.mjs";
import { overlay } from "./arrows.mjs";
import { choices, volumes } from "./choice.mjs";
import { frame } from "./furniture.mjs";
import { decode, encode, fits, python } from "./link.mjs";
import { afterTable, beforeTable, refill, rove } from "./matrix.mjs";
import { readNumber, readRows, rowsText, usual } from "./numbers.mjs";
import { mover } from "./play.mjs";
import { origins, outcome } from "./promise.mjs";
import { changed, first, fromSpec, specOf, written } from "./state.mjs";
import { cellOf, code, ending, runnable, sentence, whence } from "./words.mjs";

const BESIDE = 20; // more columns than this are stacked on every screen

function indexOf(el) {
  const mounts = [...document.querySelectorAll('.bim-mount[data-kind="primitive"]')];
  return Math.max(0, mounts.indexOf(el.closest(".bim-mount")));
}

function render({ model, el }) {
  const index = indexOf(el);
  const primitives = model.get("primitives");
  const live = Boolean(model.get("live"));
  const base = model.get("spec");
  const ui = { s: null, after: [], cells: [], chosen: [0, 0] };

  const does = {
    write(rank, slot, text) {
      const value = readNumber(text);
      if (value === null) return refuse(text, rank, slot);
      take(written(ui.s, [[value]], rank, slot));
    },
    paste(event, rank, slot) {
      const rows = readRows(event.clipboardData.getData("text").replace(/\t/g, " "));
      if (!rows || rows.flat().length < 2) return; // one number is pasted by the field itself
      event.preventDefault();
      take(written(ui.s, rows, rank, slot));
    },
    text(text) {
      const rows = readRows(text);
      if (rows) take(written(ui.s, rows));
      else refuse(text);
    },
    random: () => take(written(ui.s, ui.s.rows.map((numbers) => numbers.map(() => Math.floor(Math.random() * 100))))),
    usual: () => take(written(ui.s, ui.s.cells.map((numbers, rank) => numbers.map((_, slot) => usual(rank, slot))))),
    choose(rank, slot, aloud) {
      ui.chosen = [rank, slot];
      tell(ui.chosen, aloud);
    },
    point: (rank, slot) => tell([rank, slot], false),
    leave: () => tell(ui.chosen, false),
    play: () => move.play(),
    copyCall: () => copy(runnable(ui.s), "A cell that runs this on real ranks", parts.notice),
    copyLink() {
      history.replaceState(null, "", encode(specOf(ui.s), index));
      copy(location.href, "Link", parts.notice);
    },
    copyPython: () => copy(python(specOf(ui.s)), "Python", parts.notice),
  };
  const proof = twin("Where every number comes from", provenance);
  const parts = frame(does, { live, proof: proof.node });
  parts.overlay = overlay(parts.stage, () => ({ before: parts.before.body, after: parts.after.body }));
  parts.stage.append(...parts.overlay.nodes);

  const move = mover(parts.root, el.dataset.clock === "manual", () => parts.overlay.launch(ui.cells), () => {
    tell(ui.chosen, false);
    parts.live.textContent = ending(ui.s, ui.after);
  });

  function refuse(text, rank, slot) {
    const where = rank === undefined ? parts.text : parts.before.body.querySelector(`[data-at="${rank},${slot}"]`);
    where.setAttribute("aria-invalid", "true");
    parts.notice.textContent = `“${text}” cannot be read: a value is a number from −1,000,000 to 1,000,000, numbers stand apart by spaces, ranks by semicolons.`;
  }

  // Something changed: everything is computed again, and a kernel hears of it.
  function take(s) {
    const same = ui.s && ["p", "nranks", "root", "length"].every((name) => s[name] === ui.s[name]);
    const light = same && s.op === ui.s.op;
    ui.s = s;
    ui.after = outcome(s);
    ui.cells = origins(s).map((slots, rank) => slots.map((_, slot) => cellOf(s, ui.after, rank, slot)));
    if (!same) ui.chosen = first(s, origins(s));
    move.halt();
    if (light) refill(parts.before.body, parts.after.body, s, ui.cells);
    else rebuild();
    fill();
    tell(ui.chosen, true);
    if (live) share();
  }

  function share() {
    if (JSON.stringify(model.get("spec")) === JSON.stringify(specOf(ui.s))) return;
    model.set("spec", specOf(ui.s));
    model.save_changes();
  }

  // New tables and controls. Where focus was, it stays.
  function rebuild() {
    const { s } = ui;
    const focus = [...parts.root.querySelectorAll("[data-at], select")].indexOf(document.activeElement);
    const out = Math.max(...ui.after.map((numbers) => numbers.length));
    parts.root.classList.toggle("bim-many", s.nranks > 8);
    parts.stage.className = `bim-halves ${s.length + out > BESIDE ? "" : Math.max(s.length, out) > 8 ? "bim-beside bim-uneven" : "bim-beside"}`;
    parts.stage.setAttribute("style", `--in:${s.length};--out:${out};--slots:${Math.max(s.length, out)}`);
    parts.controls.replaceChildren(choices(s, primitives, (change) => take(changed(primitives, ui.s, change))));
    parts.before.title.textContent = s.p.name === "barrier" ? "Before: when a rank arrives, in ms" : "Before";
    parts.after.title.textContent = s.p.name === "barrier" ? "After: when it leaves, in ms" : "After";
    parts.before.body.replaceChildren(beforeTable(s, does));
    parts.after.body.replaceChildren(afterTable(s, ui.cells, does));
    rove(parts.before.body.firstChild, "0,0");
    rove(parts.after.body.firstChild, `${ui.chosen}`);
    [...parts.root.querySelectorAll("[data-at], select")][focus]?.focus({ preventScroll: true });
  }

  // What stands around the tables.
  function fill() {
    const { s } = ui;
    parts.code.textContent = code(s, ui.after);
    parts.use.textContent = s.p.use;
    parts.volumes.replaceChildren(volumes(s, Math.max(...ui.after.map((numbers) => numbers.length))));
    parts.text.value = rowsText(s.rows);
    parts.text.removeAttribute("aria-invalid");
    parts.notice.replaceChildren();
    proof.refresh();
  }

  function tell(at, aloud) {
    const [rank, slot] = at;
    const words = sentence(ui.s, ui.after, at);
    parts.sentence.textContent = words;
    parts.overlay.point(move.moving() ? [] : ui.cells[rank][slot].from, at);
    if (aloud) parts.live.textContent = words;
  }

  function provenance() {
    const rows = ui.cells.flatMap((slots, rank) => slots.map(({ text, from }, slot) => row("td", [`rank ${rank}`, `${slot}`, text, whence(ui.s, rank, from)])));
    return table(`${ui.s.p.name} on ${ui.s.nranks} ranks`, ["Rank", "Slot", "holds afterwards", "from"], rows);
  }

  const open = (spec) => take(fromSpec(primitives, spec));
  function onHash() {
    const linked = live ? null : decode(location.hash, index);
    if (linked && fits(primitives, linked)) open(linked);
    else if (linked) parts.notice.textContent = "This link asks for something that cannot be drawn.";
    return linked && fits(primitives, linked);
  }
  const onSpec = () => { if (JSON.stringify(model.get("spec")) !== JSON.stringify(specOf(ui.s))) open(model.get("spec")); };
  const again = () => tell(ui.chosen, false);

  el.append(parts.root);
  parts.root.primitive = { tick: move.tick }; // tests drive time
  const watcher = new ResizeObserver(again);
  watcher.observe(parts.stage);
  for (const { body } of [parts.before, parts.after]) body.addEventListener("scroll", again);
  window.addEventListener("hashchange", onHash);
  model.on("change:spec", onSpec);
  open(base);
  parts.live.textContent = ""; // nothing is said before the reader does something
  onHash();
  return () => {
    move.halt();
    watcher.disconnect();
    window.removeEventListener("hashchange", onHash);
    model.off("change:spec", onSpec);
  };
}

export default { render };
