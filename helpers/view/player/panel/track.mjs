// One schedule's views: who holds what, who sends to whom, when; and when a recorded run of it did.
import { drawMemory, memorySizes } from "../../shared/drawing/memory.mjs";
import { timeView } from "../../shared/drawing/time.mjs";
import { topologyView } from "../../shared/drawing/topology.mjs";
import { h } from "../../shared/page/dom.mjs";
import { shown } from "../../shared/page/motion.mjs";
import { loadText } from "../../shared/schedules/load.mjs";

export const MODEL = "hollow: alpha, once per message · tinted: its bytes · thin: receiving · blank: waiting";
export const RUN =
  "solid: sending · thin: receiving · blank: waiting · ▾: late, a step that took over a quarter longer than the model's";

function panel(name, title, ...more) {
  const body = h("div", { class: "bim-view" });
  const note = h("p", { class: "bim-note" });
  const node = h(
    "div",
    { class: `bim-panel bim-panel-${name}` },
    h("p", { class: "bim-title" }, title),
    more,
    body,
    note,
  );
  return { node, body, note };
}

// A two-way switch; the second one pressed means on.
function modes(label, [off, on], onChange) {
  const buttons = [off, on].map((text, i) =>
    h("button", { type: "button", class: "bim-tool", click: () => onChange(i === 1) }, text),
  );
  const show = (value) => buttons.forEach((button, i) => button.setAttribute("aria-pressed", `${(i === 1) === value}`));
  return { node: h("div", { class: "bim-modes", role: "group", "aria-label": label }, buttons), show };
}

export const provenance = ({ source, date, label, machine }) =>
  [source === "replay" ? `recorded ${date}` : "measured just now", [label, machine].filter(Boolean).join("; ")]
    .filter(Boolean)
    .join(": ");

// does: { mode, load, hold(position), drop(step) }; end: seconds at the right end of the axis. -> { nodes, redraw(wide), show }
export function track(view, does, { name = "", end, tall }) {
  const numbers = modes("What cells show", ["Slots", "Numbers"], (on) => does.mode(on ? "numbers" : "slots"));
  const loads = modes("What links show", ["Now", "So far"], does.load);
  const memory = panel("memory", name ? `${name} holds` : "Who holds what?", numbers.node);
  const topology = panel("topology", name ? `${name} sends` : "Who sends to whom?", loads.node);
  const time = panel("time", view.real ? "When, by the model?" : name ? `${name}: when?` : "When?");
  const real = view.real && panel("time", "When, in the recorded run?");
  const panels = [memory, topology, time, real].filter(Boolean);
  let drawings = [];
  let drawn = "";

  function redraw(wide) {
    const width = (one) => one.body.clientWidth || 300;
    const height = wide
      ? Math.max(220, memorySizes(view, 500, false).height)
      : Math.max(200, Math.min(view.places > 4 ? 300 : 230, tall));
    const lines = [
      [time, {}],
      [real, { run: view.real }],
    ].filter(([one]) => one);
    drawings = lines.map(([one, more]) => [one, timeView(view, width(one), does.hold, does.drop, { end, ...more })]);
    drawings.push([topology, topologyView(view, width(topology), height)]);
    drawings.forEach(([one, { node }]) => one.body.replaceChildren(node));
    time.note.replaceChildren(MODEL);
    real?.note.replaceChildren(`${provenance(view.real.told)} · ${RUN}`);
    drawn = "";
  }

  // -> whether a step or the mode changed, so that words and tables have to
  function show(position, { mode, load }) {
    drawings.forEach(([, drawing]) => drawing.show(position, load));
    const { step, state } = shown(position);
    const key = `${step} ${state} ${mode} ${load}`;
    if (key === drawn) return false;
    drawn = key;
    const room = memory.body.clientWidth || 320;
    const svg = drawMemory(view, position, room, mode === "numbers");
    memory.body.replaceChildren(svg);
    memory.body.tabIndex = svg.getAttribute("width") > room ? 0 : -1; // what scrolls can be reached by keyboard
    topology.note.replaceChildren(load ? loadText(view, state) : "");
    numbers.show(mode === "numbers");
    loads.show(load);
    return true;
  }

  return { nodes: panels.map(({ node }) => node), redraw, show }; // memory and topology, then times
}
