// What is on show and everything that follows from it: the trace, its parts, the axis, the unit, the top of the picture.
import { alike, alongside, axisOf } from "./draw/axis.mjs";
import { ceiling } from "./draw/chart.mjs";
import { firstOver } from "./draw/over.mjs";
import { holders } from "./panel/holders.mjs";
import { usedClasses } from "./panel/telling.mjs";
import { unitFor } from "./trace/amounts.mjs";
import { classBands, lineBands } from "./trace/lines.mjs";
import { layerNames, layersOf, phasesOf, tallest } from "./trace/parts.mjs";
import { emptyTrace, marksOf, unpack } from "./trace/store.mjs";

// The state of a widget before it has a trace. asked: what a link, or the author, wants to see first; devices: bytes by name;
// view: the events on show, null for all; rival: what is compared with, { name, traces }; files: snapshots opened so far, by name;
// wanted: what a link asks of a file; lit: { slots } that stand out.
export function shape(spec, devices = {}) {
  const { show = "", names = [], limit = 0, axis = "events", rank = 0, at = null } = spec;
  const ui = {
    show,
    names,
    limit: limit ?? 0,
    given: limit ?? 0,
    devices,
    colour: "class",
    more: false,
    view: null,
    rival: null,
    files: new Map(),
    lit: null,
    axisMode: axis,
    rank,
    at: 0,
    part: 0,
    following: false,
    opened: "",
    wanted: null,
    seen: "",
    set: {},
    traces: [[0, emptyTrace()]],
    list: { mode: "auto", filter: "", pages: 1 },
    asked: at === null ? {} : { at },
    held: [],
  };
  ui.take = (set) =>
    Object.assign(ui, {
      set,
      traces: tracesOf(set),
      rival: rivalOf(set),
      opened: "",
      rank: Math.min(ui.rank, set.ranks.length - 1),
      part: 0,
      view: null,
      lit: null,
    });
  return ui;
}

// What a set is compared with: { name, traces }, or null.
export const rivalOf = ({ against }) => (against ? { name: against.name, traces: tracesOf(against) } : null);

const tracesOf = (set) => set.ranks.map((data, i) => [data.about.rank ?? i, unpack(data)]);

// "forward", "backward", ...; where a phase comes again, with its number.
function titled(phases) {
  const [all, seen] = [new Map(), new Map()];
  for (const { name } of phases) all.set(name, (all.get(name) ?? 0) + 1);
  return phases.map((phase) => {
    seen.set(phase.name, (seen.get(phase.name) ?? 0) + 1);
    return { ...phase, title: all.get(phase.name) > 1 ? `${phase.name} ${seen.get(phase.name)}` : phase.name };
  });
}

// [from, to): the events among which a part can be shown nearer.
export const wholeOf = ({ part, phases, t }) => (part ? [phases[part - 1].from, phases[part - 1].to] : [0, t.n]);

// Fills in what follows from traces, rank, part, view and axis; axisOnly: the trace is the one it was.
export function prepared(ui, axisOnly = false) {
  const [, t] = ui.traces[Math.min(ui.rank, ui.traces.length - 1)];
  if (!axisOnly) measured(ui, t);
  const { axisMode, part, view } = ui;
  const seconds = axisMode === "seconds" && t.timed;
  const ends = [t, ...ui.others.map((other) => other.t)].map((one) => (seconds ? (one.micros.at(-1) ?? 0) : one.n));
  ui.axis = axisOf(t, axisMode, view ?? wholeOf(ui), part || view ? 0 : Math.max(...ends));
}

// What is drawn as lines: the trace that is compared with, else the other ranks.
function drawnWith({ rival, traces, rank }, t) {
  if (!rival)
    return traces.flatMap(([number, one]) => (one === t ? [] : [{ t: one, rank: number, text: `${number}` }]));
  return [{ t: (rival.traces[rank] ?? rival.traces[0])[1], rank: null, text: rival.name }];
}

// What is drawn: one picture, or two files' beside each other.
export const views = (ui) => (ui.pair ? [{ ...ui, others: [] }, beside(ui)] : [ui]);

// The picture of the file beside: the same clock and height, the moment that is as far along.
function beside(ui) {
  const [{ t }] = ui.others;
  const [axis, at] = [alike(t, ui.axis), alongside(t, ui.axis, ui.at)];
  const over = firstOver(t, ui.limit);
  return { ...ui, t, axis, at, over, others: [], lit: null, phases: [], layers: [], marks: marksOf(t) };
}

const isUnclassed = ({ about }) => about.classes === false;
const reservedMost = (t) => t.samples.reduce((most, [, , reserved]) => Math.max(most, reserved), 0);

function measured(ui, t) {
  ui.others = drawnWith(ui, t);
  const unclassed = isUnclassed(t);
  const pair = unclassed && Boolean(ui.rival) && isUnclassed(ui.others[0].t);
  const most = Math.max(
    t.total[t.peak] ?? 0,
    ...ui.others.map((other) => other.t.total[other.t.peak] ?? 0),
    reservedMost(t),
    pair ? reservedMost(ui.others[0].t) : 0,
  );
  if (!ui.limit && t.ooms?.length) ui.limit = t.ooms[0][3];
  const unit = unitFor(Math.max(most, ui.limit <= 2.5 * most ? ui.limit : 0));
  const rows = layerNames(t);
  Object.assign(ui, {
    t,
    bands: unclassed ? lineBands([t, ...(pair ? [ui.others[0].t] : [])]) : classBands,
    unit,
    rows,
    timed: t.timed,
    phases: titled(phasesOf(t)),
    layers: layersOf(t),
    marks: marksOf(t),
    used: usedClasses(t),
    unclassed,
    pair,
    layered: rows.length > 1,
    most: tallest(t),
    over: firstOver(t, ui.limit),
    ...ceiling(most, ui.limit),
  });
  ui.held = unclassed && t.n ? holders(ui) : [];
}
