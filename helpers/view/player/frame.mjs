// The player's fixed furniture: panels, sentence, buttons. Built once; the player fills it.
import { h } from "./dom.mjs";

function panel(name, title, note) {
  const body = h("div", { class: "bim-view" });
  const node = h("div", { class: `bim-panel bim-panel-${name}` }, h("p", { class: "bim-title" }, title), body, note && h("p", { class: "bim-note" }, note));
  return { node, body };
}

function tool(label, onClick) {
  return h("button", { type: "button", class: "bim-tool", click: onClick }, label);
}

// A two-way switch: pressed means numbers.
function modes(onMode) {
  const buttons = [["slots", "Slots"], ["numbers", "Numbers"]].map(([mode, label]) =>
    h("button", { type: "button", class: "bim-tool", "aria-pressed": `${mode === "slots"}`, click: () => onMode(mode) }, label));
  const show = (mode) => buttons.forEach((button, i) => button.setAttribute("aria-pressed", `${(i === 1) === (mode === "numbers")}`));
  return { node: h("div", { class: "bim-modes", role: "group", "aria-label": "What cells show" }, buttons), show };
}

// Links can be copied where an address holds the state: on the page, not in a kernel.
export function frame(does, { live, bar, figures, details }) {
  const memory = panel("memory", "Who holds what?");
  const topology = panel("topology", "Who sends to whom?");
  const time = panel("time", "When?", "hollow: alpha, once per message · tinted: its bytes · thin: receiving · blank: waiting");
  const switches = modes(does.mode);
  memory.node.querySelector(".bim-title").after(switches.node);
  const controls = h("div");
  const lead = h("strong");
  const text = h("span");
  const end = h("em");
  const live_ = h("p", { class: "bim-sr", "aria-live": "polite" });
  const notice = h("p", { class: "bim-notice", role: "status" });
  const stage = h("div", { class: "bim-stage", tabindex: "0", role: "group", "aria-label": "Step player: Space plays, arrow keys step, Home and End jump" },
    memory.node, topology.node, time.node);
  const enlarge = document.fullscreenEnabled && tool("Enlarge", does.enlarge);
  const tools = h("div", { class: "bim-tools" },
    !live && tool("Copy link", does.copyLink), tool("Copy as Python", does.copyPython), enlarge, notice);
  const root = h("div", { class: "bim-player bim-widget" }, h("div", { class: "bim-body" },
    controls, stage, h("p", { class: "bim-sentence" }, lead, " ", text, " ", end), bar, figures, tools, details, live_));
  return { root, controls, memory, topology, time, switches, stage, lead, text, end, live: live_, notice, enlarge };
}
