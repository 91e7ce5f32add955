// What is on show and everything that follows from it: the trace, its parts, the axis, the unit, the top of the picture.
import { axisOf } from "./draw/axis.mjs";
import { ceiling } from "./draw/chart.mjs";
import { usedClasses } from "./panel/telling.mjs";
import { unitFor } from "./trace/amounts.mjs";
import { layerNames, layersOf, phasesOf, tallest } from "./trace/parts.mjs";
import { emptyTrace, marksOf, unpack } from "./trace/store.mjs";

// The state of a widget before it has a trace. asked: what a link, or the author, wants to see first.
export function shape(spec) {
  const { show = "", names = [], limit = 0, axis = "events", rank = 0, at = null } = spec;
  const ui = {
    show,
    names,
    limit: limit ?? 0,
    axisMode: axis,
    rank,
    at: 0,
    part: 0,
    following: false,
    opened: "",
    seen: "",
    set: {},
    traces: [[0, emptyTrace()]],
    list: { mode: "auto", filter: "", pages: 1 },
    asked: at === null ? {} : { at },
  };
  ui.take = (set) =>
    Object.assign(ui, {
      set,
      traces: set.ranks.map((data, i) => [data.about.rank ?? i, unpack(data)]),
      rank: Math.min(ui.rank, set.ranks.length - 1),
      part: 0,
    });
  return ui;
}

// "forward", "backward", ...; where a phase comes again, with its number.
function titled(phases) {
  const [all, seen] = [new Map(), new Map()];
  for (const { name } of phases) all.set(name, (all.get(name) ?? 0) + 1);
  return phases.map((phase) => {
    seen.set(phase.name, (seen.get(phase.name) ?? 0) + 1);
    return { ...phase, title: all.get(phase.name) > 1 ? `${phase.name} ${seen.get(phase.name)}` : phase.name };
  });
}

// Fills in what follows from traces, rank, part and axis; axisOnly: the trace is the one it was.
export function prepared(ui, axisOnly = false) {
  const [, t] = ui.traces[Math.min(ui.rank, ui.traces.length - 1)];
  if (!axisOnly) measured(ui, t);
  const { traces, axisMode, part, phases } = ui;
  const seconds = axisMode === "seconds" && t.timed;
  const end = part ? 0 : Math.max(...traces.map(([, one]) => (seconds ? (one.micros.at(-1) ?? 0) : one.n)));
  ui.axis = axisOf(t, axisMode, part ? [phases[part - 1].from, phases[part - 1].to] : [0, t.n], end);
}

function measured(ui, t) {
  const most = Math.max(
    ...ui.traces.map(([, one]) => one.total[one.peak] ?? 0),
    ...t.samples.map(([, , reserved]) => reserved),
  );
  const unit = unitFor(Math.max(most, ui.limit <= 2.5 * most ? ui.limit : 0));
  const rows = layerNames(t);
  Object.assign(ui, {
    t,
    unit,
    rows,
    timed: t.timed,
    phases: titled(phasesOf(t)),
    layers: layersOf(t),
    marks: marksOf(t),
    used: usedClasses(t),
    unclassed: t.about.classes === false,
    layered: rows.length > 1,
    most: tallest(t),
    ...ceiling(most, ui.limit),
    others: ui.traces.filter(([, one]) => one !== t).map(([rank, one]) => [one, rank]),
  });
}
