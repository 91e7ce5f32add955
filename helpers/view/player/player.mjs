// The step player: one schedule in three linked views, or two on one clock. This module ties state, clock and drawing together.
import { loadTables, logTable, memoryTable } from "../shared/drawing/tables.mjs";
import { listen, listenFar, transport } from "../shared/page/controls.mjs";
import { onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { shown, start } from "../shared/page/motion.mjs";
import { twin } from "../shared/page/tools.mjs";
import { doesOf } from "./deeds.mjs";
import { frame } from "./panel/frame.mjs";
import { readout } from "./panel/readout.mjs";
import { stills } from "./panel/stills.mjs";
import { advance, onView, own, position, redraw, views } from "./show.mjs";
import { differs } from "./state/offers.mjs";
import { session } from "./state/session.mjs";

function ofEach(widget, build) {
  return () =>
    views(widget).map((view, i) => {
      const made = [build(view, own(widget)[i])].flat();
      if (views(widget).length > 1) made.forEach((one) => one.caption.prepend(`${view.schedule.algorithm}. `));
      return made;
    });
}

function tablesOf(widget) {
  const held = (view, at) => memoryTable(view, shown(at).state, widget.ui.mode === "numbers");
  const log = (view, at) => logTable(view, shown(at).state);
  return [
    twin("This picture as a table", ofEach(widget, held)),
    twin("What every rank received", ofEach(widget, log)),
    twin("What every link carried, and who was idle", ofEach(widget, loadTables)),
  ];
}

function open(widget, linked) {
  const { ui, talk } = widget;
  ui.more ||= differs(linked.spec, talk.base);
  Object.assign(ui, { mode: linked.mode, load: linked.load ?? false });
  talk.ask(linked.spec, () => linked.step, linked.step);
}

function onHash(widget) {
  const { talk, index } = widget;
  const linked = talk.linked(location.hash, index);
  if (linked) open(widget, linked);
}

function onStep(widget) {
  const { model, ui, does } = widget;
  if (model.get("step") !== ui.clock.target) does.seek(model.get("step"));
}

// Before it is printed, and until it was.
function onPaper(widget) {
  const { talk, ui, parts } = widget;
  offPaper(widget);
  if (!views(widget).length) return;
  widget.paper = stills(views(widget), talk.state.clock, ui.mode);
  parts.stage.after(widget.paper);
}

function offPaper(widget) {
  widget.paper?.remove();
}

function render({ model, el }) {
  const widget = { model, el, index: placeOf(el) };
  const begun = { clock: start(0), speed: 1, mode: "slots", load: false, more: false };
  widget.ui = { ...begun, tracks: [], silent: 0, said: "", frame: 0 };
  widget.talk = session(
    model,
    (step) => onView(widget, step),
    (text) => widget.parts.notice.replaceChildren(text),
  );
  widget.does = doesOf(widget);
  widget.bar = transport(widget.does);
  widget.figures = readout();
  widget.tables = tablesOf(widget);
  widget.parts = frame(widget.does, {
    live: widget.talk.live,
    bar: widget.bar.node,
    figures: widget.figures.node,
    details: widget.tables.map(({ node }) => node),
  });

  el.append(widget.parts.root);
  widget.parts.root.player = { tick: (ms) => advance(widget, ms), position: () => position(widget) }; // tests drive time
  listen(widget.parts.root, widget.does);
  const ends = [listenFar(widget.parts.stage, widget.does), onWidth(widget.parts.stage, () => redraw(widget), 0)];
  const heard = Object.entries({ hashchange: onHash, beforeprint: onPaper, afterprint: offPaper }).map(
    ([name, does]) => [name, () => does(widget)],
  );
  heard.forEach((one) => window.addEventListener(...one));
  const stepped = () => onStep(widget);
  model.on("change:step", stepped);
  const { base, linked } = widget.talk;
  open(
    widget,
    linked(location.hash, widget.index) ?? { spec: base, step: model.get("step") ?? base.step ?? 0, mode: "slots" },
  );
  return () => {
    cancelAnimationFrame(widget.ui.frame);
    ends.forEach((end) => end());
    heard.forEach((one) => window.removeEventListener(...one));
    model.off("change:step", stepped);
    widget.talk.close();
  };
}

export default { render };
