// The widget `yours`: what a reader pastes, drops or chooses, and the verdict on it. Ties state, reading and drawing together.
import { onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { furniture } from "./furniture.mjs";
import { bytesOf, given, listed, opened } from "./given.mjs";
import { decode } from "./link.mjs";
import { keepRoom, tell } from "./telling.mjs";
import { verdictOn } from "./verdict/asked.mjs";

const PAUSE = 300; // ms after the last key before a text is read

// The verdict on what stands there, and all that shows it.
function judge(widget) {
  const { s, known, parts } = widget;
  const empty = typeof widget.given === "string" && !widget.given.trim();
  widget.found = empty ? null : verdictOn(known, widget.given, s.machine || null);
  parts.machine.value = s.machine;
  tell(widget);
}

// An example by its name, on its own machine or on a told one.
function tryOut(widget, name, machine = null) {
  const example = widget.examples.find((one) => one.name === name);
  widget.s = { example: name, machine: machine ?? example.machine ?? "" };
  widget.given = given(example);
  widget.parts.room.style.minHeight = "";
  widget.files = [];
  widget.parts.box.value = example.text ?? "";
  judge(widget);
}

// The reader's own: a text, bytes, or dumps by rank. files: their names, as ranks were told from them.
function take(widget, own, files = []) {
  widget.s = { ...widget.s, example: "" };
  widget.given = own;
  widget.parts.room.style.minHeight = "";
  widget.files = files;
  judge(widget);
}

async function open(widget, files) {
  const read = await Promise.all([...files].map(async (file) => ({ name: file.name, bytes: await bytesOf(file) })));
  if (!read.length) return;
  const own = opened(read);
  widget.parts.box.value = typeof own === "string" ? own : "";
  take(widget, own, listed(read, own));
}

function doesOf(widget) {
  const later = () => take(widget, widget.parts.box.value);
  return {
    tryOut: (name) => tryOut(widget, name),
    typed: () => {
      clearTimeout(widget.timer);
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
  if (isKnown && (!linked.machine || widget.known.places[linked.machine]))
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
