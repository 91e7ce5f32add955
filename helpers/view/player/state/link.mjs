// The whole state of a player as a link and as Python. A link holds letters, digits and hyphens only: it is safe as any page's anchor.
import { nbytesText } from "../../shared/page/numbers.mjs";

const WORDS = ["collective", "algorithm", "link", "across", "versus", "view", "load"];
const WHOLES = ["nranks", "root", "nchunks", "slices", "gpus", "nics", "nbytes", "step"];
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
    const [, name, text] = /^(\w+)-(.+)$/.exec(part) ?? [];
    if (!WORDS.includes(name) && !(WHOLES.includes(name) && /^\d+$/.test(text))) return null;
    state[name] = WORDS.includes(name) ? text : Number(text);
  }
  return state;
}

// A size as the text that parses back to exactly it.
const sizeText = (nbytes) => (Number.isInteger(Math.log2(nbytes)) ? `"${nbytesText(nbytes)}"` : nbytes);

// A cell that shows the same player.
export function python(spec, trace) {
  const { collective, algorithm, nranks, recorded, rival } = spec;
  const named = collective ? [`"${collective} ${algorithm}"`, `nranks=${nranks}`] : [`"""${trace.text}"""`];
  const option = (name, value = spec[name]) => value && `${name}=${typeof value === "string" ? `"${value}"` : value}`;
  const options = [
    ...named,
    ...(collective ? ["root", "nchunks", "slices"] : []).map((name) => option(name)),
    option("gpus"),
    ...(recorded
      ? [recorded.name ? option("recorded", recorded.name) : "recorded=run"]
      : [`nbytes=${sizeText(spec.nbytes)}`, option("link")]),
    option("across"),
    option("nics"),
    option("versus", rival?.algorithm),
    option("step"),
  ];
  return `from helpers.view import player\n\nplayer(${options.filter(Boolean).join(", ")})`;
}
