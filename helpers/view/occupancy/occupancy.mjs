// The widget `occupancy`: sliders for what a block takes, the SM that it fills, and what runs out first. Ties state and drawing together.
import { h } from "../shared/page/dom.mjs";
import { follow, landed, placeOf } from "../shared/page/lifecycle.mjs";
import { nbytesText, PERCENT } from "../shared/page/numbers.mjs";
import { table, tools, twin } from "../shared/page/tools.mjs";
import { occupancySentence, occupied, REGISTERS, THREADS } from "./count.mjs";
import { decode, encode, fits, python } from "./link.mjs";
import { curvePicture, curveRows, limitsTable, smPicture } from "./sm.mjs";

const KIB = 1024;

// A slider with its value beside it: { node, show(value, most) }
function slider(label, { min, step, words }, onInput) {
  const value = h("output", {});
  const range = h("input", {
    type: "range",
    min,
    step,
    "aria-label": label,
    input: () => onInput(Number(range.value)),
  });
  const show = (now, most) => {
    range.max = most;
    range.value = now;
    value.textContent = words(now);
    range.setAttribute("aria-valuetext", words(now));
  };
  return { node: h("label", { class: "bim-slider" }, h("span", {}, label), range, value), show };
}

function furniture(widget) {
  const { gpus, does } = widget;
  const gpu = h(
    "select",
    { "aria-label": "Accelerator", change: () => does.take({ gpu: gpu.value }) },
    gpus.map(({ name }) => h("option", { value: name }, name)),
  );
  const sliders = {
    threads: slider("Threads per block", { min: 32, step: 32, words: (n) => `${n} threads` }, (threads) =>
      does.take({ threads }),
    ),
    registers: slider("Registers per thread", { min: 16, step: 1, words: (n) => `${n} registers` }, (registers) =>
      does.take({ registers }),
    ),
    shared: slider("Shared memory per block", { min: 0, step: KIB, words: nbytesText }, (shared) =>
      does.take({ shared }),
    ),
  };
  const [stage, curve, limits] = [h("div"), h("div"), h("div")];
  const sentence = h("p", { class: "bim-sentence" });
  const said = h("p", { class: "bim-sr", "aria-live": "polite" });
  const notice = h("p", { class: "bim-notice", role: "status" });
  const proof = twin("Occupancy for every size of a block", does.rows);
  const root = h(
    "div",
    { class: "bim-occupancy bim-widget" },
    h(
      "div",
      { class: "bim-body" },
      h("p", { class: "bim-controls" }, "One SM of ", gpu, ", its warp slots filled by blocks"),
      h(
        "div",
        { class: "bim-sliders" },
        Object.values(sliders).map(({ node }) => node),
      ),
      stage,
      sentence,
      limits,
      curve,
      tools(widget, encode, python, notice),
      proof.node,
      said,
    ),
  );
  return { root, gpu, sliders, stage, curve, limits, sentence, said, notice, proof };
}

function gpuOf(widget) {
  return widget.gpus.find(({ name }) => name === widget.s.gpu);
}

function doesOf(widget) {
  return {
    take(change) {
      const next = { ...widget.s, ...change };
      const { most } = widget.gpus.find(({ name }) => name === next.gpu);
      widget.s = { ...next, shared: Math.min(next.shared, most) };
      draw(widget);
      landed(widget, [widget.parts.sentence]);
    },
    rows: () =>
      table(
        `${widget.s.gpu}, ${widget.s.registers} registers, ${nbytesText(widget.s.shared)}`,
        ["Threads in a block", `Resident warps, of ${gpuOf(widget).warps}`, ["Occupancy", PERCENT]],
        curveRows(gpuOf(widget), widget.s),
      ),
  };
}

function draw(widget) {
  const gpu = gpuOf(widget);
  const got = occupied(gpu, widget.s);
  widget.parts.gpu.value = widget.s.gpu;
  widget.parts.sliders.threads.show(widget.s.threads, THREADS);
  widget.parts.sliders.registers.show(widget.s.registers, REGISTERS);
  widget.parts.sliders.shared.show(widget.s.shared, gpu.most);
  widget.parts.stage.replaceChildren(smPicture(gpu, got));
  widget.parts.curve.replaceChildren(curvePicture(gpu, widget.s));
  widget.parts.limits.replaceChildren(limitsTable(got));
  widget.parts.sentence.textContent = `${occupancySentence(gpu, widget.s)}.`;
  widget.parts.notice.replaceChildren();
  widget.parts.proof.refresh();
}

function show(widget, spec) {
  widget.s = spec;
  draw(widget);
}

function render({ model, el }) {
  const widget = { model, index: placeOf(el), live: Boolean(model.get("live")), s: model.get("spec") };
  widget.gpus = model.get("gpus");
  widget.does = doesOf(widget);
  widget.parts = furniture(widget);

  el.append(widget.parts.root);
  draw(widget);
  return follow(widget, { decode, fits: (s) => fits(widget.gpus, s), show });
}

export default { render };
