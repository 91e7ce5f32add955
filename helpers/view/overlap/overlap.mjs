// The widget `overlap`: a step's computation and its calls on two lanes. Ties state and drawing together.
import { onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { changeTo, furniture, offer, stopOf, readout } from "./panel/furniture.mjs";
import { othersOf, stepOf, units } from "./job.mjs";
import { decode, fits } from "./link.mjs";
import { picture, strip } from "./panel/picture.mjs";
import { recordedPicture } from "./panel/ranks.mjs";
import { best, compared, figuresOf, verdict } from "./words.mjs";

// What follows from the state.
function work(widget) {
  const { s, know, links } = widget;
  widget.o = stepOf(s, know, links);
  widget.others = othersOf(s, know, links);
  widget.least = widget.others.indexOf(best(widget.others));
  widget.units = units(know.models[s.model], s.tokens, (know.rates[s.gpu] * s.share) / 100);
}

const drawing = ({ s, o, units: own }, width) =>
  s.mode === "recorded" ? recordedPicture(o, width) : picture(o, own, width);

function draw(widget) {
  const { parts, s, o, others } = widget;
  offer(parts, widget);
  parts.size.show();
  const bars = strip(
    others.map((one) => figuresOf(one.o).exposed),
    stopOf(widget),
    widget.least,
    parts.size.room.clientWidth - 16,
  );
  parts.size.room.replaceChildren(bars);
  parts.sentence.textContent = verdict(s, o);
  parts.compared.textContent = compared(s, others);
  parts.stage.replaceChildren(drawing(widget, parts.stage.clientWidth));
  parts.figures.replaceChildren(...readout(widget));
  parts.notice.replaceChildren();
  parts.proof.refresh();
}

// What a kernel and a screen reader are told, once it stands still.
function landed(widget) {
  const { parts, model, live } = widget;
  clearTimeout(widget.timer);
  widget.timer = setTimeout(() => {
    parts.said.textContent = `${parts.sentence.textContent} ${parts.compared.textContent}`;
  }, 400);
  if (!live) return;
  model.set("spec", { ...widget.s });
  model.save_changes();
}

function show(widget, spec) {
  widget.s = spec;
  work(widget);
  draw(widget);
}

function take(widget, change) {
  show(widget, { ...widget.s, ...change });
  landed(widget);
}

function onHash(widget) {
  const linked = widget.live ? null : decode(location.hash, widget.index);
  if (!linked) return;
  if (fits(linked, widget.know, widget.links)) show(widget, linked);
  else widget.parts.notice.textContent = "This link asks for something that cannot be drawn.";
}

function onSpec(widget) {
  const spec = widget.model.get("spec");
  if (JSON.stringify(spec) !== JSON.stringify(widget.s)) show(widget, spec);
}

function render({ model, el }) {
  const widget = { model, index: placeOf(el), live: Boolean(model.get("live")), timer: 0, s: model.get("spec") };
  widget.know = model.get("overlaps");
  widget.links = model.get("links");
  widget.does = {
    take: (change) => take(widget, change),
    best: () => take(widget, changeTo(widget, widget.least)),
  };
  const [hash, spec] = [() => onHash(widget), () => onSpec(widget)];
  work(widget);
  widget.parts = furniture(widget);
  el.append(widget.parts.root);
  draw(widget);
  const ended = onWidth(widget.parts.stage, () => draw(widget));
  window.addEventListener("hashchange", hash);
  model.on("change:spec", spec);
  hash();
  return () => {
    clearTimeout(widget.timer);
    ended();
    window.removeEventListener("hashchange", hash);
    model.off("change:spec", spec);
  };
}

export default { render };
