// The widget's fixed furniture: two panels, the sentence, the code, the buttons. Built once; the widget fills it.
import { icon } from "../../shared/page/controls.mjs";
import { h } from "../../shared/page/dom.mjs";
import { tool, tools } from "../../shared/page/tools.mjs";

function panel(name) {
  const title = h("p", { class: "bim-title" });
  const body = h("div", { class: "bim-table" });
  return { node: h("div", { class: `bim-column bim-${name}` }, title, body), title, body };
}

export function frame(does, { live, proof }) {
  const [before, after] = [panel("before"), panel("after")];
  const stage = h("div", { class: "bim-halves" }, before.node, after.node);
  const text = h("input", {
    type: "text",
    class: "bim-typed",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "All values, ranks apart by semicolons",
    change: () => does.text(text.value),
  });
  const play = h(
    "button",
    { type: "button", class: "bim-button bim-play", "aria-label": "Play", title: "Play", click: does.play },
    icon("play"),
  );
  const [controls, sentence, volumes, use] = [
    h("div"),
    h("p", { class: "bim-sentence" }),
    h("div"),
    h("p", { class: "bim-use" }),
  ];
  const code = h("code");
  const said = h("p", { class: "bim-sr", "aria-live": "polite" });
  const notice = h("p", { class: "bim-notice", role: "status" });
  const values = h("div", { class: "bim-values" }, play, text, tool("Random", does.random), tool("Reset", does.usual));
  const call = h(
    "div",
    { class: "bim-call" },
    h("p", { class: "bim-title" }, "The call, in every rank"),
    h("pre", { tabindex: "0", role: "region", "aria-label": "The call as code" }, code),
    tool("Copy as a cell that runs it", does.copyCall),
  );
  const under = tools({ live }, does.address, does.python, notice);
  const root = h(
    "div",
    { class: "bim-primitive bim-widget" },
    h("div", { class: "bim-body" }, controls, stage, sentence, values, call, volumes, use, under, proof, said),
  );
  return { root, controls, stage, before, after, sentence, code, volumes, use, text, live: said, notice };
}
