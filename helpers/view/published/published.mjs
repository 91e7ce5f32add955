// The widget `published`: published times of nccl-tests over the size, up to three runs and a reader's own.
// Ties state and drawing together.
import { follow, landed, onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { nbytesText } from "../shared/page/numbers.mjs";
import { lineThrough } from "./data/line.mjs";
import { another, nearest } from "./data/nearest.mjs";
import { unpacked } from "./data/runs.mjs";
import { LETTERS, reading } from "./data/words.mjs";
import { decode, fits } from "./link.mjs";
import { chart } from "./panel/chart.mjs";
import { sentences } from "./panel/controls.mjs";
import { furniture, isFree } from "./panel/furniture.mjs";
import { cards, provenance } from "./panel/numbers.mjs";

const MANY = 200; // sizes through which a line is sought: it tries every three

const sizesOf = (runs) => [...new Set(runs.flatMap(({ sizes }) => sizes))].sort((a, b) => a - b);

// The size on the list that is nearest, by factors.
const closest = (sizes, nbytes) =>
  sizes.reduce((best, one) => (Math.abs(Math.log2(one / nbytes)) < Math.abs(Math.log2(best / nbytes)) ? one : best));

// What follows from the keys and from the reader's own table. A line is worked out when its run is first shown.
function work(widget) {
  const published = widget.s.curves.map((key) => widget.runs.find((run) => run.key === key));
  for (const run of published) run.line ??= lineThrough(run.sizes, run.seconds);
  widget.curves = published.map((run, i) => ({ letter: LETTERS[i], run }));
  widget.published = sizesOf(published);
  if (widget.own) widget.curves.push({ letter: "Y", run: widget.own[widget.picked] });
  widget.sizes = sizesOf(widget.curves.map(({ run }) => run));
  widget.now = closest(widget.sizes, widget.now ?? widget.s.at);
  widget.s = { ...widget.s, at: closest(widget.published, widget.now) };
}

// Only what moves with the size that is read off.
function tell(widget) {
  const { parts, curves, sizes, now } = widget;
  widget.picture.show(now);
  parts.size.show(sizes.indexOf(now), sizes.length - 1, nbytesText(now));
  parts.sentence.textContent = reading(curves, now);
  parts.cards.replaceChildren(...cards(widget));
}

function picture(widget) {
  const { parts, curves, s, sizes } = widget;
  const seek = (grain) => widget.does.place(sizes.indexOf(closest(sizes, 2 ** grain)));
  widget.picture = chart(curves, s, parts.stage.clientWidth, seek);
  parts.stage.replaceChildren(widget.picture.node);
}

function draw(widget) {
  const { parts, s } = widget;
  picture(widget);
  parts.sentences.replaceChildren(...sentences(widget));
  parts.more.hidden = !isFree(widget);
  parts.shows.show(s);
  parts.sources.replaceChildren(...provenance(widget));
  parts.notice.replaceChildren();
  parts.proof.refresh();
  tell(widget);
}

const say = (widget) => landed(widget, [widget.parts.sentence]);

function take(widget, change) {
  widget.s = { ...widget.s, ...change };
  work(widget);
  draw(widget);
  say(widget);
}

// Another run for a letter; the keyboard stays at its control although the sentence is written anew.
function choose(widget, letter, field, value) {
  const i = LETTERS.indexOf(letter);
  const label = document.activeElement?.getAttribute("aria-label");
  const free = widget.runs.filter(({ key }) => !widget.s.curves.includes(key));
  const run = nearest(free, widget.curves[i].run, field, value);
  if (run) take(widget, { curves: widget.s.curves.with(i, run.key) });
  else draw(widget); // only another letter has it
  widget.parts.root.querySelector(`[aria-label="${label}"]`)?.focus();
}

function own(widget, curves, picked = 0) {
  for (const one of curves ?? []) one.line ??= one.sizes.length > MANY ? null : lineThrough(one.sizes, one.seconds);
  widget.own = curves;
  widget.picked = picked;
  widget.parts.own.show(curves, picked);
  take(widget, {});
}

function place(widget, i) {
  widget.now = widget.sizes[i];
  widget.s = { ...widget.s, at: closest(widget.published, widget.now) };
  tell(widget);
  say(widget);
}

function doesOf(widget) {
  const shown = () => widget.curves.filter(({ run }) => run.key).map(({ run }) => run);
  return {
    take: (change) => take(widget, change),
    choose: (letter, field, value) => choose(widget, letter, field, value),
    drop: (letter) => take(widget, { curves: widget.s.curves.filter((_, i) => LETTERS[i] !== letter) }),
    add: () => take(widget, { curves: [...widget.s.curves, another(widget.runs, shown()).key] }),
    place: (i) => place(widget, i),
    own: (curves) => own(widget, curves),
    pick: (i) => own(widget, widget.own, i),
  };
}

function show(widget, spec) {
  widget.s = spec;
  widget.now = spec.at;
  work(widget);
  draw(widget);
}

function render({ model, el }) {
  const widget = { model, index: placeOf(el), live: Boolean(model.get("live")), s: model.get("spec") };
  widget.open = new Set(); // the letters whose provenance is open
  widget.runs = unpacked(model.get("published"));
  widget.does = doesOf(widget);
  widget.parts = furniture(widget);
  el.append(widget.parts.root);
  show(widget, widget.s);
  return follow(
    widget,
    { decode, fits: (s) => fits(widget.runs, s), show },
    onWidth(widget.parts.stage, () => {
      picture(widget);
      widget.picture.show(widget.now);
    }),
  );
}

export default { render };
