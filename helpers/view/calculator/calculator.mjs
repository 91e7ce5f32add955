// The widget `calculator`: what a step or a server needs, term by term, beside a predicted run. Ties the choice and the drawing together.
import { h } from "../shared/page/dom.mjs";
import { placeOf } from "../shared/page/lifecycle.mjs";
import { tool, tools, twin } from "../shared/page/tools.mjs";
import { decode, encode, python } from "./link.mjs";
import { computed, highest } from "./moments.mjs";
import { changed, controls, find, fits } from "./panel/choosing.mjs";
import { bars, symbols, termList } from "./panel/terms.mjs";
import { nearest, runOf } from "./runs.mjs";
import { AT, NOWHERE, ONLY, remarks, sentence, sized, unitOf } from "./says.mjs";

function furniture(widget) {
  const [choices, said, stage, heading, list, beside] = ["div", "p", "div", "p", "div", "div"].map((tag) => h(tag));
  said.className = "bim-sentence";
  heading.className = "bim-title";
  list.className = "bim-calc-terms";
  beside.className = "bim-calc-beside";
  const spoken = h("p", { class: "bim-sr", "aria-live": "polite" });
  const notice = h("p", { class: "bim-notice", role: "status" });
  const under = tools(
    widget,
    (_, index) => encode(widget.ui.spec, index),
    () => python(widget.ui.spec),
    notice,
  );
  const root = h(
    "div",
    { class: "bim-calculator bim-widget" },
    h("div", { class: "bim-body" }, choices, said, stage, heading, list, beside, under, widget.key.node, spoken),
  );
  return { root, choices, said, stage, heading, list, beside, spoken, notice };
}

// What the run says of the same step; or where one is recorded.
function besideRun(spec, run, top, forms, onChange) {
  if (spec.mode === "serve") return [h("p", {}, ONLY.serve), h("p", {}, NOWHERE)];
  const where =
    run &&
    (run.phase === "step"
      ? "in the optimizer's step"
      : `in ${run.phase}${run.module ? `, ${run.module}` : ", outside the blocks"}`);
  const near = !run && nearest(spec, forms);
  const apart = run && Math.abs(top.nbytes / run.peak - 1);
  const said = run
    ? h(
        "p",
        {},
        h("b", {}, "Predicted run"),
        ` (meta tensors, CUDA's operators): peak ${sized(run.peak, unitOf(run.peak))} ${where}. ` +
          `The formulas are ${apart < 5e-4 ? "within 0.05 %" : `${(100 * apart).toFixed(2)} % apart`}.`,
      )
    : h(
        "p",
        {},
        "No predicted run is recorded for this choice. ",
        near && tool("Show the nearest that is", () => onChange(near), { class: "bim-tool bim-calc-near" }),
      );
  return [said, h("p", {}, `${ONLY.train} ${NOWHERE}`)];
}

// A choice: what this model cannot do falls back and is said; what was wished comes back with a model that can.
function turn(widget, change) {
  const wish = { ...widget.ui.wish, ...change };
  take(widget, changed(widget.forms, wish), true, wish);
}

// Something changed: everything is computed again, and a kernel hears of it.
function take(widget, spec, aloud = true, wish = spec) {
  const { ui, forms, parts, key, live, model } = widget;
  Object.assign(ui, { spec, wish });
  ui.moments = computed(spec, forms);
  ui.chosen = highest(ui.moments).name;
  const focus = [...parts.choices.querySelectorAll("select")].findIndex((one) => one === document.activeElement);
  const label = document.activeElement?.getAttribute("aria-label");
  parts.choices.replaceChildren(controls(forms, spec, (change) => turn(widget, change)));
  if (focus >= 0) parts.choices.querySelector(`[aria-label="${label}"]`)?.focus({ preventScroll: true });
  parts.notice.replaceChildren();
  const told = sentence(spec, highest(ui.moments), forms.devices[spec.device]);
  const words = [told, ...remarks(wish, spec, find(forms, spec.model))].join(" ");
  parts.said.textContent = words;
  if (aloud) parts.spoken.textContent = words;
  draw(widget);
  key.refresh();
  if (live && JSON.stringify(model.get("spec")) !== JSON.stringify(spec)) {
    model.set("spec", spec);
    model.save_changes();
  }
}

function draw(widget) {
  const { ui, forms, parts } = widget;
  const { spec, moments, chosen } = ui;
  const top = highest(moments);
  const shown = moments.find(({ name }) => name === chosen);
  const run = runOf(spec, forms);
  const unit = unitOf(top.nbytes);
  const focused = parts.stage.contains(document.activeElement);
  parts.stage.replaceChildren(
    bars(moments, { unit, capacity: forms.devices[spec.device], device: spec.device, chosen, onChoose: widget.choose }),
  );
  if (focused) parts.stage.querySelector('[aria-pressed="true"]').focus({ preventScroll: true });
  parts.heading.textContent = `What stands there ${AT[chosen]}: ${sized(shown.nbytes, unit)}`;
  parts.list.replaceChildren(
    ...termList(shown.terms, { forms, unit, run: shown === top ? run : undefined, open: ui.open }),
  );
  parts.beside.replaceChildren(...besideRun(spec, run, top, forms, (change) => turn(widget, change)));
}

function choose(widget, name) {
  const { ui, parts } = widget;
  ui.chosen = name;
  draw(widget);
  parts.spoken.textContent = parts.heading.textContent;
}

function onHash(widget) {
  const { live, index, forms, parts } = widget;
  const linked = live ? null : decode(location.hash, index);
  if (linked && fits(forms, linked)) take(widget, changed(forms, linked));
  else if (linked) parts.notice.textContent = "This link asks for something that cannot be computed.";
}

function onSpec(widget) {
  const { model, ui } = widget;
  if (JSON.stringify(model.get("spec")) !== JSON.stringify(ui.spec)) take(widget, model.get("spec"));
}

function render({ model, el }) {
  const widget = { model };
  widget.choose = (name) => choose(widget, name);
  widget.onHash = () => onHash(widget);
  widget.onSpec = () => onSpec(widget);
  widget.index = placeOf(el);
  widget.forms = model.get("forms");
  widget.live = Boolean(model.get("live"));
  widget.ui = { spec: null, wish: null, moments: [], chosen: "", open: new Set() };

  widget.key = twin("What the letters stand for", () => symbols(widget.ui.spec, widget.forms));
  widget.parts = furniture(widget);

  el.append(widget.parts.root);
  window.addEventListener("hashchange", widget.onHash);
  model.on("change:spec", widget.onSpec);
  take(widget, model.get("spec"), false); // nothing is said before the reader does something
  onHash(widget);
  return () => {
    window.removeEventListener("hashchange", widget.onHash);
    model.off("change:spec", widget.onSpec);
  };
}

export default { render };
