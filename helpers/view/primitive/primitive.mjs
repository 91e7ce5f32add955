// The widget `primitive`: ranks by slots before and after one call, with the reader's own numbers. Ties state and drawing together.
import { follow, placeOf } from "../shared/page/lifecycle.mjs";
import { copy, twin } from "../shared/page/tools.mjs";
import { decode, encode, fits, python } from "./link.mjs";
import { readNumber, readRows, usual } from "./numbers.mjs";
import { overlay } from "./panel/arrows.mjs";
import { frame } from "./panel/furniture.mjs";
import { mover } from "./play.mjs";
import { open, provenance, refuse, take, tell } from "./show.mjs";
import { specOf, written } from "./state.mjs";
import { ending, runnable, unused } from "./words.mjs";

function doesOf(widget) {
  return {
    write(rank, slot, text) {
      const value = readNumber(text);
      if (value === null) return refuse(widget, text, rank, slot);
      take(widget, written(widget.ui.s, [[value]], rank, slot));
    },
    paste(event, rank, slot) {
      const rows = readRows(event.clipboardData.getData("text").replace(/\t/g, " "));
      if (!rows || rows.flat().length < 2) return; // one number is pasted by the field itself
      event.preventDefault();
      take(widget, written(widget.ui.s, rows, rank, slot));
      widget.parts.notice.textContent = unused(widget.ui.s, rows, rank, slot);
    },
    text(text) {
      const rows = readRows(text);
      if (!rows) return refuse(widget, text);
      take(widget, written(widget.ui.s, rows));
      widget.parts.notice.textContent = unused(widget.ui.s, rows);
    },
    random: () =>
      take(
        widget,
        written(
          widget.ui.s,
          widget.ui.s.rows.map((numbers) => numbers.map(() => Math.floor(Math.random() * 100))),
        ),
      ),
    usual: () =>
      take(
        widget,
        written(
          widget.ui.s,
          widget.ui.s.cells.map((numbers, rank) => numbers.map((_, slot) => usual(rank, slot))),
        ),
      ),
    choose(rank, slot, aloud) {
      widget.ui.chosen = [rank, slot];
      tell(widget, widget.ui.chosen, aloud);
    },
    point: (rank, slot) => tell(widget, [rank, slot], false),
    leave: () => tell(widget, widget.ui.chosen, false),
    play: () => widget.move.play(),
    copyCall: () => copy(runnable(widget.ui.s), "A cell that runs this on real ranks", widget.parts.notice),
    address: () => encode(specOf(widget.ui.s), widget.index),
    python: () => python(specOf(widget.ui.s)),
  };
}

function again(widget) {
  return tell(widget, widget.ui.chosen, false);
}

function render({ model, el }) {
  const widget = { model };
  widget.provenance = () => provenance(widget);
  widget.again = () => again(widget);
  widget.whole = () => specOf(widget.ui.s);
  widget.index = placeOf(el);
  widget.primitives = model.get("primitives");
  widget.live = Boolean(model.get("live"));
  const base = model.get("spec");
  widget.ui = { s: null, after: [], cells: [], chosen: [0, 0] };

  widget.does = doesOf(widget);
  widget.proof = twin("Where every number comes from", widget.provenance);
  widget.parts = frame(widget.does, { live: widget.live, proof: widget.proof.node });
  widget.parts.overlay = overlay(widget.parts.stage, () => ({
    before: widget.parts.before.body,
    after: widget.parts.after.body,
  }));
  widget.parts.stage.append(...widget.parts.overlay.nodes);

  widget.move = mover(
    widget.parts.root,
    el.dataset.clock === "manual",
    () => widget.parts.overlay.launch(widget.ui.cells),
    () => {
      tell(widget, widget.ui.chosen, false);
      widget.parts.live.textContent = ending(widget.ui.s, widget.ui.after);
    },
  );

  el.append(widget.parts.root);
  widget.parts.root.primitive = { tick: widget.move.tick }; // tests drive time
  const watcher = new ResizeObserver(widget.again);
  watcher.observe(widget.parts.stage);
  for (const { body } of [widget.parts.before, widget.parts.after]) body.addEventListener("scroll", widget.again);
  open(widget, base);
  widget.parts.live.textContent = ""; // nothing is said before the reader does something
  return follow(
    widget,
    { decode, fits: (spec) => fits(widget.primitives, spec), show: open },
    () => widget.move.halt(),
    () => watcher.disconnect(),
  );
}

export default { render };
