// The widget `pipeline`: a schedule over time, its messages, its bubble, what every rank holds. Ties state, clock and drawing together.
import { listen, transport } from "../shared/page/controls.mjs";
import { canvas, rect } from "../shared/page/dom.mjs";
import { follow, landed, onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { motion } from "../shared/page/motion.mjs";
import { furniture, legend } from "./furniture.mjs";
import { picture } from "./picture.mjs";
import { alternatives, changed, decode, fileOf, fits, lacking, needs, runsOf, stopsOf } from "./state.mjs";
import { halved, place, reading, readout, shareOf, sharesText, timeText, verdict } from "./words.mjs";

const HIGH = 34; // pixels of the bars

// Under the slider of microbatches: the bubble with each number of them, and where it is half as large. width: of the slider's way
function sharesStrip(all, nmicrobatches, width) {
  const now = place(all, nmicrobatches);
  const half = halved(all, now);
  const most = Math.max(...all.map(shareOf), 1e-9);
  const step = width / Math.max(1, all.length - 1);
  const bar = Math.max(2, Math.min(16, step * 0.7));
  const of = (run) => (run === all[now] ? "bim-here" : run === half ? "bim-halved" : "");
  const bars = all.map((run, i) => {
    const high = Math.max(1, (shareOf(run) / most) * HIGH);
    return rect(`bim-share ${of(run)}`, i * step - bar / 2 + 8, HIGH - high, bar, high);
  });
  const words = "The bubble, as a share of all time, by the number of microbatches";
  return canvas("bim-shares", width + 16, HIGH, words, bars);
}

// The time at a position in stops, also in between.
function timeAt({ stops }, position) {
  const i = Math.min(stops.length - 2, Math.floor(position));
  return stops[i] + (stops[i + 1] - stops[i]) * (position - i);
}

// The position of a time.
function positionAt({ stops }, at) {
  const i = Math.max(
    0,
    Math.min(
      stops.length - 2,
      stops.findLastIndex((one) => one <= at),
    ),
  );
  return i + (at - stops[i]) / (stops[i + 1] - stops[i]);
}

// Only what moves with the cursor. While it moves, words and figures are those of the stop before.
function tell(widget) {
  const { parts, runs, stops, move, bar } = widget;
  const position = move.position();
  const step = Math.floor(position);
  const [at, end] = [stops[step], stops.at(-1)];
  widget.picture.show(timeAt(widget, position));
  bar.show(move.clock(), Math.round(position), `${timeText(at)} of ${timeText(end)}`);
  if (widget.told === step) return;
  widget.told = step;
  parts.sentence.textContent = reading(runs, at, end);
  parts.readout.replaceChildren(...readout(runs, at, end));
}

function draw(widget) {
  const { parts, runs, move } = widget;
  const on = (deed) => (at) => deed(positionAt(widget, at));
  const drop = on((position) => move.to(Math.round(position)));
  widget.picture = picture(runs, parts.stage.clientWidth, on(move.hold), drop);
  parts.stage.replaceChildren(widget.picture.node);
  if (widget.others.length) {
    const room = parts.count.strip.clientWidth - 16;
    parts.count.strip.replaceChildren(sharesStrip(widget.others, widget.s.nmicrobatches, room));
  }
  widget.told = null;
  tell(widget);
}

// What follows from the choices.
function work(widget) {
  const { known, s } = widget;
  const { schedule, nranks, nmicrobatches, text } = s;
  if (text) widget.own = { schedule, nranks, nmicrobatches, text }; // it stays on offer
  widget.runs = runsOf(known, s);
  widget.stops = stopsOf(widget.runs);
  widget.others = alternatives(known, s);
}

function settle(widget, step) {
  const { parts, known, s, runs, others, own } = widget;
  widget.move.stand(widget.stops.length - 1, Math.min(step, widget.stops.length - 1));
  parts.ask(s, own);
  parts.count.show(s, known);
  parts.times.show(s);
  parts.count.where.textContent = others.length ? sharesText(others, s.nmicrobatches) : "";
  parts.verdict.textContent = verdict(runs);
  parts.root.classList.toggle("bim-two", runs.length > 1);
  parts.key.replaceChildren(...legend(runs, s));
  parts.notice.replaceChildren();
  draw(widget);
  parts.proof.refresh();
}

const say = (widget) => landed(widget, [widget.parts.verdict, widget.parts.sentence]);

// What a spec shows of Python's table: at once where it is there, in a kernel always, else when its file has come.
function having({ known, parts, s: before, own }, s, then) {
  const coming = lacking(known, s).map(async (name) => {
    known.schedules[name].texts = await BytesInMotion.known(fileOf(name));
  });
  if (!coming.length) return then();
  return Promise.all(coming).then(then, ({ message }) => {
    parts.ask(before, own);
    parts.notice.textContent = `${message}.`;
  });
}

// Another choice: the cursor keeps its share of the time.
function take(widget, change) {
  const next = changed(widget.known, widget.s, change);
  return having(widget, next, () => {
    const share = timeAt(widget, widget.move.position()) / widget.stops.at(-1);
    widget.s = next;
    work(widget);
    settle(widget, Math.round(positionAt(widget, share * widget.stops.at(-1))));
    say(widget);
  });
}

function show(widget, spec) {
  return having(widget, spec, () => {
    widget.s = spec;
    work(widget);
    settle(widget, spec.step);
  });
}

function doesOf(widget) {
  const to = (step) => widget.move.to(step);
  const named = (name) => ({ schedule: name, text: "", versus: widget.s.versus === name ? "" : widget.s.versus });
  return {
    take: (change) => take(widget, change),
    choose: (name) => take(widget, name ? named(name) : { ...widget.own, versus: "" }),
    first: () => to(0),
    last: () => to(widget.stops.length - 1),
    back: () => widget.move.by(-1),
    forward: () => widget.move.by(1),
    toggle: () => widget.move.toggle(),
    seek: to,
    speed: (factor) => widget.move.speed(factor),
  };
}

function begun(model, el) {
  const base = model.get("spec");
  const widget = {
    model,
    base,
    s: base,
    own: null,
    index: placeOf(el),
    live: Boolean(model.get("live")),
    told: null,
  };
  widget.known = model.get("pipelines");
  for (const [name, one] of Object.entries(widget.known.schedules))
    one.texts ??= model.get("orders")?.[name] ?? model.get(fileOf(name));
  widget.whole = () => ({ ...widget.s, step: widget.move.clock().target });
  widget.move = motion(
    el.dataset.clock === "manual",
    () => tell(widget),
    () => say(widget),
  );
  widget.does = doesOf(widget);
  widget.bar = transport(widget.does);
  return widget;
}

function render({ model, el }) {
  const widget = begun(model, el);
  widget.parts = furniture(widget, widget.bar);
  const { base, known } = widget;
  const { root, stage } = widget.parts;
  el.append(root);
  root.pipeline = { tick: widget.move.tick, position: widget.move.position }; // tests drive time
  listen(root, widget.does);
  show(widget, base);
  return follow(
    widget,
    { decode: (hash, index) => decode(hash, index, base, known), fits: (s) => fits(known, s), show },
    () => widget.move.stop(),
    onWidth(stage, () => draw(widget)),
  );
}

export default { render, needs };
