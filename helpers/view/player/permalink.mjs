// The whole state of a player as a link and as Python. A link holds letters, digits and hyphens only: it is safe as any page's anchor.
import { nbytesText } from "./units.mjs";

const WORDS = ["collective", "algorithm", "link", "view"];
const WHOLES = ["nranks", "root", "nchunks", "nbytes", "step"];

// state: a spec, and view "numbers" where that is on -> "#player-0--collective-all_reduce--algorithm-ring--nranks-4..."
export function encode(state, index) {
  const fields = [...WORDS, ...WHOLES].filter((name) => state[name] != null);
  return [`#player-${index}`, ...fields.map((name) => `${name}-${state[name]}`)].join("--");
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

export const find = (catalogue, { collective, algorithm }) =>
  catalogue.find((entry) => entry.collective === collective && entry.algorithm === algorithm);

// A spec from outside is taken only when the catalogue and the links know it.
export function known(spec, catalogue, links) {
  const entry = find(catalogue, spec);
  const chunks = spec.nchunks == null || entry?.nchunks?.includes(spec.nchunks);
  return spec.nbytes < 2 ** 60 && (spec.schedule || (entry?.nranks.includes(spec.nranks) && chunks)) && links.some(({ slug }) => slug === spec.link);
}

// A size as the text that parses back to exactly it.
const sizeText = (nbytes) => (Number.isInteger(Math.log2(nbytes)) ? `"${nbytesText(nbytes)}"` : nbytes);

// A cell that shows the same player.
export function python({ collective, algorithm, nranks, root, nchunks, nbytes, link, step }, trace) {
  const named = collective ? [`"${collective} ${algorithm}"`, `nranks=${nranks}`] : [`"""${trace.text}"""`];
  const options = [
    ...named,
    collective && root && `root=${root}`,
    collective && nchunks && `nchunks=${nchunks}`,
    `nbytes=${sizeText(nbytes)}`,
    `link="${link}"`,
    step && `step=${step}`,
  ];
  return `from helpers.view import player\n\nplayer(${options.filter(Boolean).join(", ")})`;
}
