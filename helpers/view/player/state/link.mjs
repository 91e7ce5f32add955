// The whole state of a player as a link and as Python. A link holds letters, digits and hyphens only: it is safe as any page's anchor.
import { py, shown } from "../../shared/page/copied.mjs";
import { nbytesText } from "../../shared/page/numbers.mjs";

const WORDS = ["collective", "algorithm", "link", "across", "versus", "view", "load"];
const WHOLES = ["nranks", "root", "nchunks", "slices", "gpus", "nics", "nbytes", "step"];
const OFFERED = { view: ["slots", "numbers"], load: ["on"] };
const STANDING = ["view", "load", "step"]; // where the reader stands; all that a recorded run leaves open

// state: a spec, and view "numbers", load "on" where these are on -> "#player-0--collective-all_reduce--algorithm-ring--nranks-4..."
export function encode(state, index) {
  const all = { ...state, versus: state.rival?.algorithm };
  const fields = [...WORDS, ...WHOLES].filter(
    (name) => all[name] != null && (!state.recorded || STANDING.includes(name)),
  );
  return [`#player-${index}`, ...fields.map((name) => `${name}-${all[name]}`)].join("--");
}

// The fields of a link made for this player, or null when it is about something else or broken.
export function decode(hash, index) {
  const [head, ...parts] = hash.split("--");
  if (head !== `#player-${index}`) return null;
  const state = {};
  for (const part of parts) {
    const [, name, text] = /^(\w+)-([\w.+-]+)$/.exec(part) ?? [];
    if (!WORDS.includes(name) && !(WHOLES.includes(name) && /^\d+$/.test(text))) return null;
    if (OFFERED[name] && !OFFERED[name].includes(text)) return null;
    state[name] = WORDS.includes(name) ? text : Number(text);
  }
  return state;
}

// A size as the text that parses back to exactly it.
const sizeText = (nbytes) => (Number.isInteger(Math.log2(nbytes)) ? nbytesText(nbytes) : nbytes);

// A cell that shows the same player.
export function python(spec, trace) {
  const { collective, algorithm, nranks, recorded, rival } = spec;
  const { root, nchunks, slices, gpus, link, across, nics, step } = spec;
  const first = collective ? `${collective} ${algorithm}` : trace.text;
  const named = collective ? { nranks, root, nchunks, slices } : {};
  const run = recorded && (recorded.name || py`run`);
  const priced = recorded ? { recorded: run } : { nbytes: sizeText(spec.nbytes), link };
  const options = { ...named, gpus, ...priced, across, nics, versus: rival?.algorithm, step };
  return shown("player", [first], Object.fromEntries(Object.entries(options).filter(([, value]) => value)));
}
