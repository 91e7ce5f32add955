// The widget `overlap`: a step's computation and its calls on two lanes. Ties state and drawing together.
import { follow, landed, onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { othersOf, stepOf, units } from "./job.mjs";
import { decode, fits } from "./link.mjs";
import { changeTo, furniture, offer, readout, stopOf } from "./panel/furniture.mjs";
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

function show(widget, spec) {
  widget.s = spec;
  work(widget);
  draw(widget);
}

function take(widget, change) {
  show(widget, { ...widget.s, ...change });
  landed(widget, [widget.parts.sentence, widget.parts.compared]);
}

function render({ model, el }) {
  const widget = { model, index: placeOf(el), live: Boolean(model.get("live")), s: model.get("spec") };
  widget.know = model.get("overlaps");
  widget.links = model.get("links");
  widget.does = {
    take: (change) => take(widget, change),
    best: () => take(widget, changeTo(widget, widget.least)),
  };
  work(widget);
  widget.parts = furniture(widget);
  el.append(widget.parts.root);
  draw(widget);
  return follow(
    widget,
    { decode, fits: (s) => fits(s, widget.know, widget.links), show },
    onWidth(widget.parts.stage, () => draw(widget)),
  );
}

export default { render };
