// The widget `routing`: tokens on their way to experts, slots and drops. Ties state and drawing together.
import { follow, landed, onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { furniture } from "./furniture.mjs";
import { decode, fits, OFFERED } from "./link.mjs";
import { picture } from "./picture.mjs";
import { compared, routes, verdict } from "./routes.mjs";

function draw(widget) {
  const { s, parts } = widget;
  widget.r = routes(s);
  for (const [key, one] of Object.entries(parts.choosers))
    one.show(key === "nranks" ? OFFERED.nranks.filter((n) => n <= s.experts) : OFFERED[key], s[key]);
  for (const [key, one] of Object.entries(parts.sliders)) one.show(s[key]);
  parts.sentence.textContent = verdict(s, widget.r);
  parts.compared.textContent = compared(s, widget.r);
  parts.stage.replaceChildren(picture(s, widget.r, parts.stage.clientWidth));
  parts.notice.replaceChildren();
  parts.proof.refresh();
}

function show(widget, spec) {
  widget.s = spec;
  draw(widget);
}

function take(widget, change) {
  const next = { ...widget.s, ...change };
  if (next.nranks > next.experts) next.nranks = next.experts;
  show(widget, next);
  landed(widget, [widget.parts.sentence, widget.parts.compared]);
}

function render({ model, el }) {
  const widget = { model, index: placeOf(el), live: Boolean(model.get("live")), s: model.get("spec") };
  widget.does = { take: (change) => take(widget, change) };
  widget.parts = furniture(widget);
  el.append(widget.parts.root);
  draw(widget);
  return follow(
    widget,
    { decode, fits, show },
    onWidth(widget.parts.stage, () => draw(widget)),
  );
}

export default { render };
