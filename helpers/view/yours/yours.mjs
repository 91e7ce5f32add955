// The widget `yours`: what a reader pastes, drops or chooses, and the verdict on it. Ties state, reading and drawing together.
import { onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { furniture } from "./furniture.mjs";
import { contents, given, listed, opened, tooMuch } from "./given.mjs";
import { decode } from "./link.mjs";
import { keepRoom, tell } from "./telling.mjs";
import { verdictOn } from "./verdict/asked.mjs";
import { refusal } from "./verdict/empty.mjs";

const PAUSE = 300; // ms after the last key before a text is read

// What nobody foresaw is said, too, and the page lives on.
function verdictOf(known, own, machine) {
  const why = own instanceof Error ? own.message : typeof own === "string" ? tooMuch(own.length) : "";
  if (why) return refusal(why);
  try {
    return verdictOn(known, own, machine);
  } catch (error) {
    console.error(error);
    return refusal(`this page has a fault of its own with it (${error.message})`);
  }
}

// The verdict on what stands there, and all that shows it.
function judge(widget) {
  const { s, known, parts } = widget;
  const empty = typeof widget.given === "string" && !widget.given.trim();
  widget.found = empty ? null : verdictOf(known, widget.given, s.machine || null);
  parts.machine.value = s.machine;
  tell(widget);
}

// A text that waits for its next key, and a file that is still being read, come too late from here on.
function begin(widget) {
  clearTimeout(widget.timer);
  widget.turn += 1;
  return widget.turn;
}

// An example by its name, on its own machine or on a told one.
async function tryOut(widget, name, machine = null) {
  const turn = begin(widget);
  const example = widget.examples.find((one) => one.name === name);
  const found = given(example);
  const own = found instanceof Promise ? await found : found;
  if (turn !== widget.turn) return;
  widget.given = own;
  widget.s = { example: name, machine: machine ?? example.machine ?? "" };
  widget.parts.room.style.minHeight = "";
  widget.files = [];
  widget.parts.box.value = example.text ?? "";
  judge(widget);
}

// The reader's own: a text, bytes, dumps by rank, or the Error that says why it is none of them.
// files: their names, as ranks were told from them.
function take(widget, own, files = []) {
  widget.s = { ...widget.s, example: "" };
  widget.given = own;
  widget.parts.room.style.minHeight = "";
  widget.files = files;
  judge(widget);
}

async function open(widget, files) {
  if (!files.length) return;
  const turn = begin(widget);
  const chosen = [...files];
  widget.parts.sentence.textContent = "Reading ...";
  const read = await contents(chosen).catch((error) => error);
  await new Promise((drawn) => setTimeout(drawn));
  if (turn !== widget.turn) return;
  const own = read instanceof Error ? read : opened(read);
  widget.parts.box.value = typeof own === "string" ? own : "";
  take(widget, own, listed(chosen, own));
}

function doesOf(widget) {
  const later = () => take(widget, widget.parts.box.value);
  return {
    tryOut: (name) => tryOut(widget, name),
    typed: () => {
      begin(widget);
      widget.timer = setTimeout(later, PAUSE);
    },
    open: (files) => open(widget, files),
    on: (machine) => {
      widget.s = { ...widget.s, machine };
      keepRoom(widget);
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
  const known = { ...model.get("yours"), nccl: model.get("nccl") };
  const widget = {
    known,
    examples: model.get("yours_examples"),
    s: model.get("spec"),
    index: placeOf(el),
    files: [],
    timer: 0,
    turn: 0,
  };
  widget.does = doesOf(widget);
  widget.parts = furniture(widget);
  el.append(widget.parts.root);
  tryOut(widget, widget.s.example, widget.s.machine);
  const hash = () => onHash(widget);
  const ended = onWidth(widget.parts.stage, () => tell(widget));
  window.addEventListener("hashchange", hash);
  hash();
  return () => {
    clearTimeout(widget.timer);
    ended();
    window.removeEventListener("hashchange", hash);
  };
}

export default { render };
