// What the playground and the world outside tell each other: a kernel or the page by the model, and a reader's links.
import { find, identity } from "../shared/schedules/choices.mjs";
import { parse } from "../shared/schedules/text.mjs";
import { decodeState, encodeState } from "./link.mjs";
import { scheduleText } from "./writing.mjs";

// state(): what is on show; does: { open(state), begin(schedule), tell(text) }
export function exchange(model, index, state, does) {
  const live = Boolean(model.get("live"));
  const known = { links: model.get("links"), tasks: model.get("playground").tasks };
  let asked = null; // a schedule of the catalogue that is on its way
  const specNow = () => { const { s, ...more } = state(); return { schedule: scheduleText(s), ...more }; };
  const isNews = () => JSON.stringify(model.get("spec")) !== JSON.stringify(specNow());

  // Asks for a schedule of the catalogue to start from.
  function ask(algorithm) {
    const { s, nbytes, link } = state();
    const entry = find(model.get("catalogue"), { collective: s.collective, algorithm });
    asked = identity(entry, { ...s, root: 0 });
    model.set("spec", { ...asked, nbytes, link });
    model.save_changes();
  }

  // A kernel hears of what is drawn; on the page nobody has to.
  function share() {
    if (!live || asked || !isNews()) return;
    model.set("spec", specNow());
    model.save_changes();
  }

  function onTrace() {
    const trace = model.get("trace");
    if (!asked || !trace || (!trace.error && parse(trace.text).algorithm !== asked.algorithm)) return;
    asked = null;
    if (trace.error) does.tell(trace.error);
    else does.begin(parse(trace.text));
  }

  function onSpec() {
    const spec = model.get("spec");
    if (spec.schedule && isNews()) does.open({ ...spec, s: parse(spec.schedule) });
  }

  function onHash() {
    const linked = live ? null : decodeState(location.hash, index, known);
    if (linked?.bad) does.tell("This link asks for something that cannot be drawn.");
    else if (linked) does.open(linked);
  }

  function close() {
    window.removeEventListener("hashchange", onHash);
    model.off("change:trace", onTrace);
    model.off("change:spec", onSpec);
  }

  function start() {
    const base = model.get("spec");
    does.open({ ...base, s: parse(base.schedule) });
    onHash();
    window.addEventListener("hashchange", onHash);
    model.on("change:trace", onTrace);
    model.on("change:spec", onSpec);
  }

  return { ask, share, start, close, anchor: () => encodeState(state(), index) };
}
