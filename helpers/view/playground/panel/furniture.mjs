// The playground's fixed furniture. Built once; the playground fills it.
import { h } from "../../shared/page/dom.mjs";
import { tool, tools } from "../../shared/page/tools.mjs";

function part(name, title, ...more) {
  const [heading, body] = [h("p", { class: "bim-title" }, title), h("div", { class: "bim-view" })];
  return { node: h("div", { class: `bim-panel bim-panel-${name}` }, heading, more, body), heading, body };
}

// A two-way switch: what a new transfer does on arrival.
function arrival(onAdds) {
  const buttons = [
    [true, "Adds ⇒"],
    [false, "Overwrites →"],
  ].map(([adds, label]) => [adds, tool(label, () => onAdds(adds))]);
  const show = (now) => buttons.forEach(([adds, button]) => button.setAttribute("aria-pressed", `${adds === now}`));
  return {
    node: h(
      "div",
      { class: "bim-modes", role: "group", "aria-label": "What arrives" },
      buttons.map(([, button]) => button),
    ),
    show,
  };
}

const titled = (title, ...more) => h("div", { class: "bim-panel" }, h("p", { class: "bim-title" }, title), more);

// The schedule as text, and the verdict on it.
function written(does) {
  const text = h("textarea", {
    class: "bim-written",
    rows: 4,
    spellcheck: "false",
    autocomplete: "off",
    wrap: "off",
    placeholder: "0:0→1 1:1⇒2",
    "aria-label": "The schedule, a line a step",
    input: () => does.type(text.value),
    blur: () => does.typed(),
  });
  const problem = h("p", { class: "bim-wrong-text", role: "status" });
  const check = h("button", { type: "button", class: "bim-check", click: does.check }, "Check");
  const verdict = h("p", { class: "bim-verdict" });
  const figures = h("dl", { class: "bim-readout" });
  const notation = "chunk:sender⇒receiver is added (type =>), chunk:sender→receiver overwrites (type ->)";
  const editor = h(
    "div",
    { class: "bim-editor" },
    titled("The schedule, a line a step", text, problem, h("p", { class: "bim-note" }, notation)),
    titled("Does it keep the promise?", h("div", { class: "bim-judged" }, check, verdict), figures),
  );
  return { text, problem, check, verdict, figures, editor };
}

// Undo and redo by the keyboard; in the text box, undoing is the box's own.
function shortcut(does, text) {
  return (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target === text) return;
    event.preventDefault();
    (event.shiftKey ? does.redo : does.undo)();
  };
}

// The board with the topology beside it, and time below.
function staged(does, board) {
  const adds = arrival(does.adds);
  const [memory, topology, time] = [part("memory", "", adds.node), part("topology", ""), part("time", "When?")];
  memory.body.append(board);
  const name = "Playground: Space plays, arrow keys step, Home and End jump";
  const room = { class: "bim-stage", tabindex: "0", role: "group", "aria-label": name };
  return { adds, memory, topology, time, stage: h("div", room, memory.node, topology.node) };
}

function tooled(does, live) {
  const notice = h("p", { class: "bim-notice", role: "status" });
  const steps = {
    fresh: tool("New step", does.fresh),
    double: tool("Duplicate step", does.double),
    drop: tool("Remove step", does.drop),
    undo: tool("Undo", does.undo),
    redo: tool("Redo", does.redo),
  };
  return { notice, steps, links: tools({ live }, does.address, does.python, notice) };
}

export function furnish(does, { live, bar, board, details }) {
  const parts = { ...staged(does, board), ...written(does), ...tooled(does, live) };
  const [controls, sentence, moves] = [h("div"), h("p", { class: "bim-sentence" }), h("ul", { class: "bim-moves" })];
  const said = h("p", { class: "bim-sr", "aria-live": "polite" });
  const body = h(
    "div",
    { class: "bim-body" },
    controls,
    h("div", { class: "bim-deck" }, parts.stage, bar, sentence),
    moves,
    h("div", { class: "bim-tools bim-steps" }, Object.values(parts.steps)),
    parts.editor,
    parts.time.node,
    parts.links,
    details,
    said,
  );
  const root = h("div", { class: "bim-playground bim-widget", keydown: shortcut(does, parts.text) }, body);
  return { ...parts, root, controls, sentence, moves, live: said };
}
