// The widget `warp`: one warp at a branch, at a load, at the banks; sliders change it, the counts follow. Ties state and drawing together.
import { h } from "../shared/page/dom.mjs";
import { follow, landed, placeOf } from "../shared/page/lifecycle.mjs";
import { table, tools, twin } from "../shared/page/tools.mjs";
import { knobs, pick, rowsOf } from "./knobs.mjs";
import { counts, warpSentence } from "./lanes.mjs";
import { decode, encode, fits, python, VIEWS } from "./link.mjs";
import { warpPicture } from "./picture.mjs";

const NAMES = { branch: "at a branch", memory: "loading from memory", banks: "loading from shared memory" };
const LABELS = {
  steps: "Steps issued",
  useful: "Useful lane-steps",
  passed: "Lane-steps passed",
  sectors: "Sectors of 32 B",
  lines: "Lines of 128 B",
  asked: "Bytes asked for",
  moved: "Bytes moved",
  ways: "Passes",
  banks: "Banks used",
  words: "Words",
};

function draw(widget, anew) {
  const { view, controls, stage, sentence, readout, notice, proof } = widget.parts;
  view.selectedIndex = VIEWS.indexOf(widget.s.view);
  if (anew) controls.replaceChildren(...knobs(widget.s, widget.take));
  stage.replaceChildren(warpPicture(widget.s));
  sentence.textContent = `${warpSentence(widget.s)}.`;
  readout.replaceChildren(
    ...Object.entries(counts(widget.s)).map(([name, value]) =>
      h("div", {}, h("dt", {}, LABELS[name]), h("dd", {}, h("strong", {}, value.toLocaleString("en-US")))),
    ),
  );
  notice.replaceChildren();
  proof.refresh();
}

function show(widget, spec) {
  widget.s = spec;
  draw(widget, true);
}

function take(widget, change) {
  widget.s = { ...widget.s, ...change };
  draw(widget, "view" in change);
  landed(widget, [widget.parts.sentence]);
}

// What stands still: the choice of a view, room for sliders, picture, sentence and counts, and the tools.
function furniture(widget) {
  const parts = {
    notice: h("p", { class: "bim-notice", role: "status" }),
    stage: h("div"),
    controls: h("div", { class: "bim-sliders" }),
    readout: h("dl", { class: "bim-readout" }),
    sentence: h("p", { class: "bim-sentence" }),
    said: h("p", { class: "bim-sr", "aria-live": "polite" }),
    view: pick(
      "What the warp does",
      VIEWS,
      widget.s.view,
      (name) => take(widget, { view: name }),
      (name) => NAMES[name],
    ),
    proof: twin("The picture as a table", () => {
      const [head, rows] = rowsOf(widget.s);
      return table(warpSentence(widget.s), head, rows);
    }),
  };
  return { ...parts, tools: tools(widget, encode, python, parts.notice) };
}

function framed({ view, controls, stage, sentence, readout, tools, proof, said }) {
  const choice = h("p", { class: "bim-controls" }, "One warp, ", view);
  const body = [choice, controls, stage, sentence, readout, tools, proof.node, said];
  return h("div", { class: "bim-warp bim-widget" }, h("div", { class: "bim-body" }, body));
}

function render({ model, el }) {
  const widget = { model, index: placeOf(el), live: Boolean(model.get("live")), s: model.get("spec") };
  widget.take = (change) => take(widget, change);
  widget.parts = furniture(widget);
  el.append(framed(widget.parts));
  draw(widget, true);
  return follow(widget, { decode, fits, show });
}

export default { render };
