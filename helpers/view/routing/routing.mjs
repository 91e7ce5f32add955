// The widget `routing`: tokens on their way to experts, slots and drops. Ties state and drawing together.
import { onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { furniture } from "./furniture.mjs";
import { decode, fits, OFFERED } from "./link.mjs";
import { picture } from "./picture.mjs";
import { routes } from "./routes.mjs";
import { compared, verdict } from "./words.mjs";

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
  draw(widget);
}

function take(widget, change) {
  const next = { ...widget.s, ...change };
  if (next.nranks > next.experts) next.nranks = next.experts;
  show(widget, next);
  landed(widget);
}

function onHash(widget) {
  const linked = widget.live ? null : decode(location.hash, widget.index);
  if (!linked) return;
  if (fits(linked)) show(widget, linked);
  else widget.parts.notice.textContent = "This link asks for something that cannot be drawn.";
}

function onSpec(widget) {
  const spec = widget.model.get("spec");
  if (JSON.stringify(spec) !== JSON.stringify(widget.s)) show(widget, spec);
}

function render({ model, el }) {
  const widget = { model, index: placeOf(el), live: Boolean(model.get("live")), timer: 0, s: model.get("spec") };
  widget.does = { take: (change) => take(widget, change) };
  const [hash, spec] = [() => onHash(widget), () => onSpec(widget)];
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
