// The widget `memory`: what is alive while a step runs, by class, by layer, block by block; recorded, predicted or live.
import { listen } from "../shared/page/controls.mjs";
import { placeOf } from "../shared/page/lifecycle.mjs";
import { twin } from "../shared/page/tools.mjs";
import { doesOf } from "./deeds.mjs";
import { onTheme } from "./draw/colours.mjs";
import { pointers } from "./draw/pointers.mjs";
import { panned } from "./draw/window.mjs";
import { decode } from "./link.mjs";
import { mover } from "./moment.mjs";
import { transportBar } from "./panel/bar.mjs";
import { lightBlock, lighting } from "./panel/lighting.mjs";
import { furniture } from "./panel/stage.mjs";
import { shape, wholeOf } from "./scope.mjs";
import { all, hear, later, load, look, numbersOf, stand, take } from "./show.mjs";
import { receiver } from "./trace/receive.mjs";

function onHash(widget) {
  const { live, index, ui, does } = widget;
  const found = live ? null : decode(location.hash, index);
  if (!found) return;
  if (found.own) return does.expect(found);
  ui.asked = found;
  const [show, against] = [found.show, found.against].map((name) => (ui.names.includes(name) ? name : ""));
  if ((show && show !== ui.show) || against !== (ui.set.against?.name ?? "")) {
    does.show(show || ui.show, against);
    ui.asked = found;
  } else take(widget);
}

const pointed = (widget) => ({
  stand: (i) => stand(widget, i, true),
  over: (slot, event) => lightBlock(widget, slot, event),
  open: widget.does.open,
  shown: () => [widget.ui.axis.from, widget.ui.axis.to],
  whole: () => wholeOf(widget.ui),
  view: (range) => look(widget, range),
});

const NEAR = { "+": "nearer", "=": "nearer", "-": "farther", 0: "everything" };
const ALONG = { ArrowRight: 0.25, ArrowLeft: -0.25 };

// Plus and minus go nearer and farther, 0 shows all, Shift and an arrow goes along.
function nearKeys(widget) {
  const { shown, whole, view } = pointed(widget);
  widget.parts.stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const along = event.shiftKey && ALONG[event.key];
    if (!along && !NEAR[event.key]) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (along) view(panned(shown(), whole(), along));
    else widget.does[NEAR[event.key]]();
  });
}

function render({ model, el }) {
  const widget = { model };
  widget.numbersOf = () => numbersOf(widget);
  widget.later = () => later(widget);
  widget.onHash = () => onHash(widget);
  widget.onPaper = () => all(widget, false); // a frame would come too late
  widget.load = () => load(widget);
  widget.hear = (message) => hear(widget, message);
  widget.index = placeOf(el);
  widget.live = Boolean(model.get("live"));
  widget.base = model.get("spec") ?? {};
  widget.ui = shape(widget.base, model.get("devices"));
  widget.feed = model.get("stream") ? receiver((wanted) => model.send({ ask: wanted })) : null;
  Object.assign(widget, { drawn: 0, listed: 0, frames: 0 });

  widget.does = doesOf(widget);
  widget.bar = transportBar(widget.does);
  widget.numbers = twin("The numbers", widget.numbersOf);
  widget.parts = furniture(
    { ...widget.does, back: widget.does.back_to },
    { live: widget.live, index: widget.index, bar: widget.bar.node, numbers: widget.numbers.node },
  );
  widget.move = mover(
    () => widget.ui,
    (i) => stand(widget, i, false),
    () => all(widget, true),
    el.dataset.clock === "manual",
  );

  pointers(widget.parts, widget.ui, pointed(widget));
  lighting(widget);
  nearKeys(widget);
  listen(widget.parts.stage, widget.does);
  el.append(widget.parts.root);
  // tests drive time, benchmarks count
  widget.parts.root.memory = { tick: widget.move.tick, ui: widget.ui, feed: widget.feed, frames: () => widget.frames };
  const watcher = new ResizeObserver(widget.later);
  watcher.observe(widget.parts.stage);
  const stopTheme = onTheme(widget.later);
  window.addEventListener("hashchange", widget.onHash);
  window.addEventListener("beforeprint", widget.onPaper);
  model.on("change:trace", widget.load);
  if (widget.feed) {
    model.on("msg:custom", widget.hear);
    widget.ui.following = true;
    model.send({ ask: "all" });
  }
  load(widget);
  onHash(widget);
  return () => {
    widget.move.halt();
    cancelAnimationFrame(widget.drawn);
    watcher.disconnect();
    stopTheme();
    window.removeEventListener("hashchange", widget.onHash);
    window.removeEventListener("beforeprint", widget.onPaper);
    model.off("change:trace", widget.load);
    model.off("msg:custom", widget.hear);
  };
}

export default { render };
