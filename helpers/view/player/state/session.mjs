// Which schedule is on show: asks the kernel or the page for traces, and keeps spec, trace and computed view together.
import { choose, find } from "../../shared/schedules/choices.mjs";
import { compute, keepStep } from "../../shared/schedules/model.mjs";
import { parse } from "../../shared/schedules/schedule.mjs";
import { decode } from "./link.mjs";
import { together } from "./together.mjs";

const given = ({ schedule, before, after, factor, promise }) => ({ text: schedule, before, after, factor, promise });

// Does an answer belong to the question that is open?
function answers(trace, spec) {
  if (spec.rival && !(trace.versus && answers(trace.versus, spec.rival))) return false;
  if (spec.schedule) return trace.text === spec.schedule;
  const s = parse(trace.text);
  const chunks = spec.nchunks ?? (spec.slices ? spec.slices * s.nranks : s.nchunks);
  const nodes = !trace.gpus || trace.gpus === spec.gpus; // equally many steps look alike from outside
  return (
    nodes &&
    chunks === s.nchunks &&
    ["collective", "algorithm", "nranks", "root"].every((name) => (spec[name] ?? s[name]) === s[name])
  );
}

// The fields of a link over what the author asked for, as the catalogue has it; null where it cannot give what the link says.
export function filled(found, base, { catalogue, links }) {
  const { versus, ...fields } = found;
  const whole = find(catalogue, found)?.slices && { slices: 1 }; // links from before there were slices
  const change = { ...whole, ...fields, rival: versus && { algorithm: versus } };
  if (Object.keys(fields).every((name) => name === "step")) return base;
  const s = base.schedule && !found.collective ? parse(base.schedule) : {};
  const from = found.collective
    ? { nbytes: base.nbytes, link: base.link }
    : { ...base, ...s, schedule: base.schedule, gpus: null, across: null, nics: null };
  const spec = choose(catalogue, from, change, links);
  const same = Object.keys(fields).every((name) => name === "step" || spec[name] === fields[name]);
  const linked = [spec.link, spec.across].every((slug) => !slug || links.some((link) => link.slug === slug));
  return same && linked && !spec.root && spec.nbytes < 2 ** 60 && versus === spec.rival?.algorithm ? spec : null;
}

function linkOf(talk, wanted) {
  return talk.model.get("links").find(({ slug }) => slug === wanted);
}

// The network as price() takes it: a link, and where there are nodes the one between them.
function network(talk, { link, recorded, gpus, across, nics }) {
  const inside = recorded ? { name: "the run's own link", ...recorded.link } : linkOf(talk, link);
  return { ...inside, gpus, nics, across: across && linkOf(talk, across) };
}

function tell(talk, step) {
  const { state, live, model } = talk;
  if (state.spec.schedule && !state.spec.rival && !live) return; // the page has nothing to look up
  model.set("spec", { ...state.spec, step });
  model.save_changes();
}

function take(talk, trace, stepOf) {
  const { state, onView } = talk;
  state.trace = trace;
  state.open = null;
  const { nbytes, recorded } = state.spec;
  state.views = [trace, ...(state.spec.rival ? [trace.versus] : [])].map((one) =>
    compute(one, nbytes, network(talk, state.spec), recorded),
  );
  state.clock = together(state.views.map(({ line }) => line));
  onView(Math.min(state.clock.last, Math.max(0, stepOf(state.clock.last))));
}

function hear(talk) {
  const { model, state, onError } = talk;
  const trace = model.get("trace");
  if (!trace || (!state.open && trace.text === state.trace.text)) return;
  if (trace.error) onError(trace.error);
  else if (trace.text && answers(trace, state.spec))
    take(talk, trace, state.open ?? ((last) => keepStep(model.get("step") ?? 0, state.clock.last, last)));
}

// Another schedule; stepOf(last) says where to stand in it.
function ask(talk, spec, stepOf, step = 0) {
  talk.state.spec = spec;
  talk.state.open = stepOf;
  if (spec.schedule && !spec.rival) take(talk, given(spec), stepOf);
  tell(talk, step);
  hear(talk);
}

// The same schedule at another size or on another network: nothing has to be asked, unless another schedule is under way.
function reprice(talk, change, step) {
  const { spec, open } = talk.state;
  if (open) {
    ask(talk, { ...spec, ...change }, open, step);
    return;
  }
  talk.state.spec = { ...spec, ...change };
  take(talk, talk.state.trace, () => step);
  tell(talk, step);
}

function switchTo(talk, spec, step) {
  const { last } = talk.state.clock;
  ask(talk, spec, (newLast) => keepStep(step, last, newLast), step);
}

// What a link asks for; null where it is about something else or asks for what is not there.
function linked(talk, hash, index) {
  const { live, base, model, onError } = talk;
  const found = live ? null : decode(hash, index);
  if (!found) return null;
  const { view = "slots", load, ...fields } = found;
  const spec = filled(fields, base, { catalogue: model.get("catalogue"), links: model.get("links") });
  if (spec) return { spec, step: found.step ?? 0, mode: view, load: load === "on" };
  onError("This link asks for a schedule that this page does not have.");
  return null;
}

// onView(step): there is something to show; onError(text). The base spec is what the author of the page or cell asked for.
export function session(model, onView, onError) {
  const base = model.get("spec");
  const state = { spec: base, trace: null, views: [], clock: null, open: null };
  const talk = { model, onView, onError, base, state, live: Boolean(model.get("live")) };
  const onTrace = () => hear(talk);
  model.on("change:trace", onTrace);
  return Object.assign(talk, {
    ask: (...args) => ask(talk, ...args),
    reprice: (change, step) => reprice(talk, change, step),
    switchTo: (spec, step) => switchTo(talk, spec, step),
    linked: (hash, index) => linked(talk, hash, index),
    close: () => model.off("change:trace", onTrace),
  });
}
