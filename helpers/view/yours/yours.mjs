// The widget `yours`: what a reader pastes, drops or chooses, and Python's verdict on it. Ties state, asking and drawing together.
import { onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { asker } from "../shared/page/python.mjs";
import { copy } from "../shared/page/tools.mjs";
import { furniture } from "./furniture.mjs";
import { given, opened, tooMuch } from "./given.mjs";
import { decode } from "./link.mjs";
import { keepRoom, tell } from "./telling.mjs";

const PAUSE = 300; // ms after the last key before a text is read
const QUIET = 150; // ms that a verdict stands while the next one comes
const LONG = 1000; // ms
const [AT_ONCE, LINES] = [20, 4]; // letters that nobody types as one; a text with fewer lines is prose, and wraps
const VERDICT = "helpers.yours.page:verdict";
const SHARED = "helpers.yours.page:shared";
const NAMELESS = "helpers.yours.page:without_names";

const exampleOf = ({ examples, s }) => examples.find(({ name }) => name === s.example);

// What came before comes too late from here on: a text that waits for its next key, a file that is being read, an answer.
function begin(widget) {
  clearTimeout(widget.timer);
  clearTimeout(widget.quiet);
  widget.turn += 1;
  return widget.turn;
}

function show(widget, found, isAwaited = false) {
  Object.assign(widget, { found, isAwaited });
  keepRoom(widget, isAwaited || widget.keeps);
  tell(widget);
  if (widget.looks) widget.parts.sentence.scrollIntoView({ block: "nearest" }); // whoever gave it looks for what becomes of it
  widget.looks &&= isAwaited;
}

const refusal = ({ known }, why) => ({ ...known.refusal, refused: why });

// What is known of it without Python: nothing stands there, it is too much, or the example's verdict came with the page.
function atOnce(widget) {
  const { given: own, s, known } = widget;
  const example = exampleOf(widget);
  if (example && s.machine === (example.machine ?? "")) return example.found;
  if (own instanceof Error) return refusal(widget, own.message);
  if (own.text === undefined) return undefined;
  const why = tooMuch(known, own.text.length);
  return why ? refusal(widget, why) : own.text.trim() ? undefined : null;
}

// Whether Python is answering, this widget or what else asks on the page.
function isBusy({ python }) {
  let now = "";
  python?.watch(({ phase }) => {
    now = phase;
  })();
  return now === "busy";
}

// A question of ours that takes long is ended when nobody waits for its answer any more; what others run on the page is not.
function makeRoom(widget) {
  const { waiting, since, isFirst } = widget;
  const busy = isBusy(BytesInMotion);
  if (!waiting) widget.isFirst = !busy;
  else if (busy && isFirst && performance.now() - since > LONG) BytesInMotion.python.stop();
  else return;
  widget.since = performance.now();
}

async function ask(widget, turn) {
  const { given: own, s } = widget;
  makeRoom(widget);
  widget.waiting += 1;
  const said = await widget.ask(VERDICT, own.text ?? own.contents, s.machine || null, own.names ?? []);
  widget.waiting -= 1;
  if (turn !== widget.turn) return;
  if (said.stopped) judge(widget);
  else took(widget, said);
}

function took(widget, { value, error }) {
  clearTimeout(widget.quiet);
  const why = error?.startsWith("Python ") ? error : `this page has a fault of its own with it (${error})`;
  if (value?.text) widget.parts.box.value = value.text;
  show(widget, value ?? refusal(widget, why));
}

// The verdict on what stands there, and all that shows it.
function judge(widget) {
  const turn = begin(widget);
  widget.parts.machine.value = widget.s.machine;
  const found = atOnce(widget);
  if (found !== undefined) {
    show(widget, found);
    return;
  }
  widget.quiet = setTimeout(() => show(widget, null, true), QUIET);
  ask(widget, turn);
}

// own: a text or files, or the Error that says why there are none. s: the example and the machine.
function take(widget, own, s) {
  widget.parts.box.wrap = (own.text ?? "").split("\n", LINES).length < LINES ? "soft" : "off";
  Object.assign(widget, { given: own, s: { ...widget.s, ...s }, keeps: false });
  judge(widget);
}

// An example by its name, on its own machine or on a told one.
function tryOut(widget, name, machine = null) {
  const example = widget.examples.find((one) => one.name === name);
  widget.parts.box.value = example.text ?? "";
  take(widget, given(example), { example: name, machine: machine ?? example.machine ?? "" });
}

async function open(widget, files) {
  if (!files.length) return;
  const turn = begin(widget);
  widget.looks = true;
  show(widget, null, true);
  const own = await opened(widget.known, [...files]).catch((error) => error);
  if (turn !== widget.turn) return;
  widget.parts.box.value = "";
  take(widget, own, { example: "" });
}

function doesOf(widget) {
  const later = () => take(widget, { text: widget.parts.box.value }, { example: "" });
  return {
    tryOut: (name) => tryOut(widget, name),
    typed: ({ inputType, data }) => {
      const { box } = widget.parts;
      begin(widget);
      widget.looks = inputType === "insertFromPaste" || data?.length > AT_ONCE; // as some telephones' keyboards paste
      if (widget.looks) {
        later();
        requestAnimationFrame(() => box.scrollTo(0, 0)); // browsers show where it ends
      } else widget.timer = setTimeout(later, PAUSE);
    },
    open: (files) => open(widget, files),
    pasted: (text) => {
      widget.parts.box.value = "";
      widget.looks = true;
      take(widget, { text, names: [`${text.split("\n").length} pasted lines`] }, { example: "" });
    },
    // The verdict for others to read, and the text for others to see: both without names of hosts, people and places.
    handOn: async () => {
      const { given: own, s, parts } = widget;
      const { value, error } = await widget.ask(SHARED, own.text ?? own.contents, s.machine || null, own.names ?? []);
      if (value) copy(value.text, "Verdict, without names,", parts.notice);
      else if (error) parts.notice.textContent = error;
    },
    hide: async () => {
      const { value } = await widget.ask(NAMELESS, widget.parts.box.value);
      if (!value) return;
      widget.parts.box.value = value.text;
      later();
      widget.parts.notice.textContent =
        "Hosts, addresses, people and places have other names now: look whether one is left.";
    },
    on: (machine) => {
      Object.assign(widget, { s: { ...widget.s, machine }, keeps: true });
      judge(widget);
    },
  };
}

function onHash(widget) {
  const linked = decode(location.hash, widget.index);
  if (!linked) return;
  const isKnown = widget.examples.some(({ name }) => name === linked.example);
  if (isKnown && (!linked.machine || Object.hasOwn(widget.known.places, linked.machine)))
    tryOut(widget, linked.example, linked.machine);
  else widget.parts.notice.textContent = "This link asks for something that is not here.";
}

function render({ model, el }) {
  const widget = {
    model,
    known: model.get("yours"),
    examples: model.get("yours_examples"),
    s: model.get("spec"),
    index: placeOf(el),
    turn: 0,
    waiting: 0, // questions to Python
  };
  widget.does = doesOf(widget);
  widget.parts = furniture(widget);
  widget.ask = asker(widget, widget.parts.coming, () => judge(widget));
  el.append(widget.parts.root);
  tryOut(widget, widget.s.example, widget.s.machine);
  const hash = () => onHash(widget);
  const ended = onWidth(widget.parts.stage, () => tell(widget));
  window.addEventListener("hashchange", hash);
  hash();
  return () => {
    begin(widget);
    ended();
    window.removeEventListener("hashchange", hash);
  };
}

export default { render };
