// One schedule's views: who holds what, who sends to whom, when; and when a recorded run of it did.
import { drawMemory } from "../../shared/drawing/memory.mjs";
import { timeView } from "../../shared/drawing/time.mjs";
import { topologyView } from "../../shared/drawing/topology.mjs";
import { h } from "../../shared/page/dom.mjs";
import { shown } from "../../shared/page/motion.mjs";
import { tool } from "../../shared/page/tools.mjs";
import { loadText } from "../../shared/schedules/load.mjs";
import { rooms } from "./rooms.mjs";

export const MODEL =
  "hollow: alpha, once a message · tinted: its bytes · thin: receiving · blank: waiting, first for the call";
export const RUN =
  "solid: sending · thin: receiving · blank: waiting · ▾: late, a step that took over a quarter longer than the model's";

function panel(name, title, ...more) {
  const body = h("div", { class: "bim-view" });
  const heading = h("p", { class: "bim-title" }, title);
  return { node: h("div", { class: `bim-panel bim-panel-${name}` }, heading, more, body), heading, body };
}

// A line under a panel's picture.
function noted({ node }, text) {
  const note = h("p", { class: "bim-note" }, text);
  node.append(note);
  return note;
}

// A two-way switch; the second one pressed means on.
function modes(label, [off, on], onChange) {
  const buttons = [off, on].map((text, i) => tool(text, () => onChange(i === 1)));
  const show = (value) => buttons.forEach((button, i) => button.setAttribute("aria-pressed", `${(i === 1) === value}`));
  return { node: h("div", { class: "bim-modes", role: "group", "aria-label": label }, buttons), show };
}

export const provenance = ({ source, date, label, machine }) =>
  [source === "replay" ? `recorded ${date}` : "measured just now", [label, machine].filter(Boolean).join("; ")]
    .filter(Boolean)
    .join(": ");

// does: { mode, load, hold(position), drop(step) }; end: seconds at the right end of the axis. -> { nodes, redraw(kind, wide), show }
export function track(view, does, { name = "", end }) {
  const numbers = modes("What cells show", ["Slots", "Numbers"], (on) => does.mode(on ? "numbers" : "slots"));
  const loads = modes("What links show", ["Now", "So far"], does.load);
  const memory = panel("memory", name ? `${name} holds` : "Who holds what?", numbers.node);
  const topology = panel("topology", name || "Who sends to whom?", loads.node);
  const time = panel("time", view.real ? "When, by the model?" : name ? `${name}: when?` : "When?");
  time.heading.append(h("span", { class: "bim-note" }, MODEL));
  const real = view.real && panel("time", "When, in the recorded run?");
  if (real) noted(real, `${provenance(view.real.told)} · ${RUN}`);
  const carried = noted(topology);
  const panels = [memory, topology, time, real].filter(Boolean);
  let drawings = [];
  let drawn = "";
  let room = {};

  function redraw(kind, wide) {
    const width = (one) => one.body.clientWidth || 300;
    room = rooms(view, kind, wide);
    const lines = [
      [time, view.line],
      [real, view.real],
    ].filter(([one]) => one);
    drawings = lines.map(([one, run]) => [
      one,
      timeView(view, width(one), does.hold, does.drop, { run, end, row: room.lane }),
    ]);
    drawings.push([topology, topologyView(view, width(topology), room.topology)]);
    drawings.forEach(([one, { node }]) => one.body.replaceChildren(node));
    drawn = "";
  }

  // -> whether a step or the mode changed, so that words and tables have to
  function show(position, { mode, load }) {
    drawings.forEach(([, drawing]) => drawing.show(position, load));
    const { step, state } = shown(position);
    const key = `${step} ${state} ${mode} ${load}`;
    if (key === drawn) return false;
    drawn = key;
    const width = memory.body.clientWidth || 320;
    const svg = drawMemory(view, position, width, mode === "numbers", room.row);
    memory.body.replaceChildren(svg);
    memory.body.tabIndex = svg.getAttribute("width") > width ? 0 : -1; // what scrolls can be reached by keyboard
    carried.replaceChildren(load ? loadText(view, state) : "");
    numbers.show(mode === "numbers");
    loads.show(load);
    return true;
  }

  return { nodes: panels.map(({ node }) => node), redraw, show }; // memory and topology, then times
}
