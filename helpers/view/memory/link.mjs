// The state as a link and as Python. A link holds letters, digits, points and hyphens only.
import { call, cell, py } from "../shared/page/copied.mjs";

const WORDS = ["show", "axis", "list", "against", "colour", "own"];
const NUMBERS = ["rank", "part", "at", "from", "to", "limit"];
const OFFERED = { axis: ["events", "seconds"], colour: ["class", "block"] };

// state: { show, against: names of recorded traces, own: what tells a reader's file again, axis, list,
// colour, rank, part, at, from, to: the events on show, limit: bytes }
export function encode(state, index) {
  const fields = [...WORDS, ...NUMBERS].filter((name) => state[name] != null && state[name] !== "");
  return [`#memory-${index}`, ...fields.map((name) => `${name}-${state[name]}`)].join("--");
}

// The fields of a link made for this widget, or null when it is about something else or broken.
export function decode(hash, index) {
  const [head, ...parts] = hash.split("--");
  if (head !== `#memory-${index}`) return null;
  const state = {};
  for (const part of parts) {
    const [, name, text] = /^(\w+)-([\w.-]+)$/.exec(part) ?? [];
    if (!WORDS.includes(name) && !(NUMBERS.includes(name) && /^\d+$/.test(text))) return null;
    if (OFFERED[name] && !OFFERED[name].includes(text)) return null;
    state[name] = WORDS.includes(name) ? text : Number(text);
  }
  return state;
}

// A cell that shows the same.
export function python({ file, gpu, show, axis, rank, at, limit }) {
  const options = {
    limit: limit || undefined,
    axis: axis === "seconds" ? axis : undefined,
    rank: rank || undefined,
    at,
  };
  const given = show ? [] : [py`# trace: what helpers.measure.track or predict_step gave`, ""];
  const read = [
    py`from helpers.memory.snapshot import read`,
    "",
    py`trace = read(${file ?? ""}).trace(${gpu ?? 0})`,
    "",
  ];
  return cell(
    py`from helpers.view import memory`,
    ...(file ? read : ["", ...given]),
    call("memory", [show || py`trace`], options),
  );
}
