// What the playground and the world outside tell each other: a kernel or the page by the model, and a reader's links.
import { find, identity } from "../shared/schedules/choices.mjs";
import { parse } from "../shared/schedules/schedule.mjs";
import { decode, encode } from "./link.mjs";
import { scheduleText } from "./writing.mjs";

function specNow(talk) {
  const { s, ...more } = talk.state();
  return { schedule: scheduleText(s), ...more };
}

function isNews(talk) {
  return JSON.stringify(talk.model.get("spec")) !== JSON.stringify(specNow(talk));
}

// Asks for a schedule of the catalogue to start from.
function ask(talk, algorithm) {
  const { state, model } = talk;
  const { s, nbytes, link } = state();
  const entry = find(model.get("catalogue"), { collective: s.collective, algorithm });
  talk.asked = identity(entry, { ...s, root: 0 });
  model.set("spec", { ...talk.asked, nbytes, link });
  model.save_changes();
}

// A kernel hears of what is drawn; on the page nobody has to.
function share(talk) {
  const { live, model } = talk;
  if (!live || talk.asked || !isNews(talk)) return;
  model.set("spec", specNow(talk));
  model.save_changes();
}

function onTrace(talk) {
  const { model, does } = talk;
  const trace = model.get("trace");
  if (!talk.asked || !trace || (!trace.error && parse(trace.text).algorithm !== talk.asked.algorithm)) return;
  talk.asked = null;
  if (trace.error) does.tell(trace.error);
  else does.begin(parse(trace.text));
}

function onSpec(talk) {
  const { model, does } = talk;
  const spec = model.get("spec");
  if (spec.schedule && isNews(talk)) does.open({ ...spec, s: parse(spec.schedule) });
}

function onHash(talk) {
  const { live, index, known, does } = talk;
  const linked = live ? null : decode(location.hash, index, known);
  if (linked?.bad) does.tell("This link asks for something that cannot be drawn.");
  else if (linked) does.open(linked);
}

function close(talk) {
  window.removeEventListener("hashchange", talk.onHash);
  talk.model.off("change:trace", talk.onTrace);
  talk.model.off("change:spec", talk.onSpec);
}

function start(talk) {
  const { model, does } = talk;
  const base = model.get("spec");
  does.open({ ...base, s: parse(base.schedule) });
  onHash(talk);
  window.addEventListener("hashchange", talk.onHash);
  model.on("change:trace", talk.onTrace);
  model.on("change:spec", talk.onSpec);
}

// state(): what is on show; does: { open(state), begin(schedule), tell(text) }
export function exchange(model, index, state, does) {
  const talk = { state, model, does, index };
  talk.onHash = () => onHash(talk);
  talk.onTrace = () => onTrace(talk);
  talk.onSpec = () => onSpec(talk);
  talk.ask = (algorithm) => ask(talk, algorithm);
  talk.share = () => share(talk);
  talk.start = () => start(talk);
  talk.close = () => close(talk);
  talk.live = Boolean(model.get("live"));
  talk.known = { links: model.get("links"), tasks: model.get("playground").tasks };
  talk.asked = null; // a schedule of the catalogue that is on its way

  return {
    ask: talk.ask,
    share: talk.share,
    start: talk.start,
    close: talk.close,
    anchor: () => encode(state(), index),
  };
}
