// The playground's fixed furniture. Built once; the playground fills it.
import { h } from "../shared/page/dom.mjs";

function part(name, title, ...more) {
  const [heading, body] = [h("p", { class: "bim-title" }, title), h("div", { class: "bim-view" })];
  return { node: h("div", { class: `bim-panel bim-panel-${name}` }, heading, more, body), heading, body };
}

const word = (label, click, more = {}) => h("button", { type: "button", class: "bim-tool", click, ...more }, label);

// A two-way switch: what a new transfer does on arrival.
function arrival(onAdds) {
  const buttons = [[true, "Adds ⇒"], [false, "Overwrites →"]].map(([adds, label]) => [adds, word(label, () => onAdds(adds))]);
  const show = (now) => buttons.forEach(([adds, button]) => button.setAttribute("aria-pressed", `${adds === now}`));
  return { node: h("div", { class: "bim-modes", role: "group", "aria-label": "What arrives" }, buttons.map(([, button]) => button)), show };
}

export function furnish(does, { live, bar, board, details }) {
  const adds = arrival(does.adds);
  const [memory, topology, time] = [part("memory", "", adds.node), part("topology", ""), part("time", "When?")];
  memory.body.append(board);
  const stage = h("div", { class: "bim-stage", tabindex: "0", role: "group", "aria-label": "Playground: Space plays, arrow keys step, Home and End jump" }, memory.node, topology.node);
  const [controls, sentence, moves] = [h("div"), h("p", { class: "bim-sentence" }), h("ul", { class: "bim-moves" })];
  const tools = {
    fresh: word("New step", does.fresh), double: word("Duplicate step", does.double), drop: word("Remove step", does.drop),
    undo: word("Undo", does.undo), redo: word("Redo", does.redo),
  };
  const text = h("textarea", {
    class: "bim-written", rows: 4, spellcheck: "false", autocomplete: "off", wrap: "off", placeholder: "0:0→1 1:1⇒2", "aria-label": "The schedule, a line a step",
    input: () => does.type(text.value), blur: () => does.typed(),
  });
  const problem = h("p", { class: "bim-wrong-text", role: "status" });
  const check = h("button", { type: "button", class: "bim-check", click: does.check }, "Check");
  const verdict = h("p", { class: "bim-verdict" });
  const figures = h("dl", { class: "bim-readout" });
  const said = h("p", { class: "bim-sr", "aria-live": "polite" });
  const notice = h("p", { class: "bim-notice", role: "status" });
  const links = h("div", { class: "bim-tools" }, !live && word("Copy link", does.copyLink), word("Copy as Python", does.copyPython), notice);
  const editor = h("div", { class: "bim-editor" },
    h("div", { class: "bim-panel" }, h("p", { class: "bim-title" }, "The schedule, a line a step"), text, problem,
      h("p", { class: "bim-note" }, "chunk:sender⇒receiver is added (type =>), chunk:sender→receiver overwrites (type ->)")),
    h("div", { class: "bim-panel" }, h("p", { class: "bim-title" }, "Does it keep the promise?"), h("div", { class: "bim-judged" }, check, verdict), figures));
  const shortcut = (event) => { // in the text box, undoing is the box's own
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target === text) return;
    event.preventDefault();
    (event.shiftKey ? does.redo : does.undo)();
  };
  const root = h("div", { class: "bim-playground bim-widget", keydown: shortcut }, h("div", { class: "bim-body" },
    controls, stage, sentence, moves, h("div", { class: "bim-tools bim-steps" }, Object.values(tools)), bar, editor, time.node, links, details, said));
  return { root, controls, stage, memory, topology, time, adds, sentence, moves, tools, text, problem, check, verdict, figures, live: said, notice };
}
