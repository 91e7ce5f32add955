// Which schedule is on show: asks the kernel or the page for traces, and keeps spec, trace and computed view together.
import { compute, keepStep } from "./model.mjs";
import { decode, known } from "./permalink.mjs";
import { parse } from "./text.mjs";

const given = ({ schedule, before, after, factor, promise }) => ({ text: schedule, before, after, factor, promise });

// Does an answer belong to the question that is open?
function answers(trace, spec) {
  const s = parse(trace.text);
  return ["collective", "algorithm", "nranks", "nchunks", "root"].every((name) => (spec[name] ?? s[name]) === s[name]);
}

// onView(view, step): there is something to show; onError(text). The base spec is what the author of the page or cell asked for.
export function session(model, onView, onError) {
  const base = model.get("spec");
  const live = Boolean(model.get("live"));
  const state = { spec: base, trace: null, view: null, open: null };
  const link = () => model.get("links").find(({ slug }) => slug === state.spec.link);

  function tell(step) {
    if (state.spec.schedule && !live) return; // the page has nothing to look up
    model.set("spec", { ...state.spec, step });
    model.save_changes();
  }

  function take(trace, stepOf) {
    state.trace = trace;
    state.open = null;
    state.view = compute(trace, state.spec.nbytes, link());
    onView(state.view, Math.min(state.view.last, Math.max(0, stepOf(state.view.last))));
  }

  function hear() {
    const trace = model.get("trace");
    if (!trace || !state.open) return;
    if (trace.error) onError(trace.error);
    else if (trace.text && answers(trace, state.spec)) take(trace, state.open);
  }

  // Another schedule; stepOf(last) says where to stand in it.
  function ask(spec, stepOf, step = 0) {
    state.spec = spec;
    state.open = stepOf;
    if (spec.schedule) take(given(spec), stepOf);
    tell(step);
    hear();
  }

  // The same schedule at another size or on another network: nothing has to be asked.
  function reprice(change, step) {
    state.spec = { ...state.spec, ...change };
    take(state.trace, () => step);
    tell(step);
  }

  const switchTo = (spec, step) => {
    const last = state.view.last;
    ask(spec, (newLast) => keepStep(step, last, newLast), step);
  };

  // A link's fields over the base spec; null where the link is about something else or asks for what is not there.
  function linked(hash, index) {
    const found = live ? null : decode(hash, index);
    if (!found) return null;
    const { view = "slots", ...fields } = found;
    const spec = found.collective ? { nbytes: base.nbytes, link: base.link, root: null, nchunks: null, ...fields } : { ...base, ...fields };
    if (known(spec, model.get("catalogue"), model.get("links"))) return { spec, step: found.step ?? 0, mode: view };
    onError("This link asks for a schedule that this page does not have.");
    return null;
  }

  model.on("change:trace", hear);
  return { state, base, live, ask, reprice, switchTo, linked, close: () => model.off("change:trace", hear) };
}
