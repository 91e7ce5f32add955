// What a reader can do.
import { added, doubled, dropped, emptied, removed, reshaped } from "./editing.mjs";
import { python, fits } from "./link.mjs";
import { verdictWords } from "./panel/saying.mjs";
import { byAdding } from "./proof/pledge.mjs";
import { moveText, prove, unsound } from "./proof/proof.mjs";
import { forbidden } from "./proof/rules.mjs";
import { edit, judge, lift, refuse, revisit, speak, step, take, task, tell, write } from "./show.mjs";
import { errorText, lineAt, read, scheduleText } from "./writing.mjs";

const UNDRAWABLE =
  "The playground draws 2 to 8 ranks and no switches, up to 64 steps, in as many chunks as the collective can share out.";

// By hand: transfers and steps.
function drawing(widget) {
  return {
    adds(adds) {
      widget.ui.adds = adds;
      widget.parts.adds.show(adds);
    },
    press(rank, chunk) {
      if (widget.ui.picked && widget.ui.picked[0] !== rank) widget.does.send(...widget.ui.picked, rank);
      else lift(widget, `${widget.ui.picked}` === `${[rank, chunk]}` ? null : [rank, chunk]);
    },
    point(rank) {
      if (widget.ui.picked && widget.ui.picked[0] !== rank) widget.does.send(...widget.ui.picked, rank);
    },
    pull(rank, chunk) {
      if (`${widget.ui.picked}` !== `${[rank, chunk]}`) lift(widget, [rank, chunk]);
    },
    leave: () => lift(widget, null),
    send(src, chunk, dst) {
      const next = added(widget.ui.s, widget.at.here(), { chunk, src, dst, adds: widget.ui.adds }, widget.ui.fresh);
      const bad = unsound(next);
      lift(widget, null);
      if (bad) tell(widget, `Not added: ${bad.message}.`);
      else edit(widget, next, widget.at.here());
    },
    remove(move_) {
      const here = widget.at.here();
      edit(widget, removed(widget.ui.s, here, move_), here, `Removed ${moveText(move_)} from step ${here + 1}.`);
      (widget.parts.moves.querySelector("button") ?? widget.parts.stage).focus();
    },
    fresh() {
      widget.move.to(widget.at.here());
      Object.assign(widget.ui, { fresh: true, fault: null, judged: false });
      lift(widget, null);
      speak(widget);
    },
    double: () => edit(widget, doubled(widget.ui.s, widget.at.here()), widget.at.here() + 1),
    drop: () => edit(widget, dropped(widget.ui.s, widget.at.here()), widget.at.here()),
    undo: () => revisit(widget, -1),
    redo: () => revisit(widget, 1),
  };
}

// By keyboard, and judged.
function writing(widget) {
  return {
    type(text) {
      const { s, error } = read(text, widget.ui.s);
      refuse(widget, error ? errorText(error) : fits(s) ? null : UNDRAWABLE);
      if (widget.ui.error || scheduleText(s) === scheduleText(widget.ui.s)) return;
      widget.ui.typing ??= {};
      edit(widget, s, lineAt(text, widget.parts.text.selectionStart), null, widget.ui.typing);
    },
    typed() {
      widget.ui.typing = null;
      if (!widget.ui.error) write(widget);
    },
    check() {
      if (widget.ui.error) return judge(widget, { kept: false, lead: "Not a schedule yet:", text: widget.ui.error });
      const against = task(widget) && forbidden(widget.ui.s, task(widget).rules);
      const found = prove(widget.ui.s) ?? (against && { ...against, rule: true });
      Object.assign(widget.ui, { fault: found, judged: true, fresh: false, picked: null });
      judge(widget, verdictWords(widget.ui.view, found, task(widget)));
      if (found) widget.move.play(Math.max(0, found.from - 1), found.from);
      else widget.draws.draw();
    },
  };
}

// What is to be drawn, and what goes out of the page.
function choosing(widget) {
  return {
    shape(change) {
      widget.ui.task = null;
      edit(widget, reshaped(widget.ui.s, change), 0);
      if (change.collective) widget.does.adds(byAdding(change));
    },
    start(algorithm) {
      if (algorithm === null) edit(widget, emptied(widget.ui.s), 0);
      else widget.world.ask(algorithm);
    },
    task(name) {
      widget.ui.task = name;
      const found = task(widget);
      if (!found) return edit(widget, widget.ui.s, widget.at.here());
      const { collective, nranks, nchunks, root } = found;
      edit(
        widget,
        emptied(reshaped(widget.ui.s, { collective, nranks, root, ...(nchunks && { nchunks }) })),
        0,
        `Target: ${found.title}.`,
      );
      widget.does.adds(byAdding(found));
    },
    price(change) {
      Object.assign(widget.ui, change);
      take(widget, widget.ui.s, widget.at.here());
      widget.world.share();
    },
    address: () => widget.world.anchor(),
    python: () => python(widget.ui.s, widget.ui.nbytes, widget.ui.link),
  };
}

// Where to stand.
function standing(widget) {
  return {
    first: () => step(widget, () => widget.move.to(0)),
    last: () => step(widget, () => widget.move.to(widget.ui.s.steps.length)),
    back: () => step(widget, () => widget.move.by(-1)),
    forward: () => step(widget, () => widget.move.by(1)),
    toggle: () => step(widget, widget.move.toggle),
    seek: (n) => step(widget, () => widget.move.to(n)),
    hold: (position) => step(widget, () => widget.move.hold(position)),
    speed: (factor) => widget.move.speed(factor),
  };
}

export function doesOf(widget) {
  return { ...drawing(widget), ...writing(widget), ...choosing(widget), ...standing(widget) };
}
