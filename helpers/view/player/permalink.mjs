// The whole state of a player as a link and as Python. A link holds letters, digits and hyphens only: it is safe as any page's anchor.
import { nbytesText } from "./units.mjs";

const FIELDS = ["collective", "algorithm", "nranks", "root", "nchunks", "nbytes", "link", "step", "view"];
const WHOLE = new Set(["nranks", "root", "nchunks", "nbytes", "step"]);

// state: a spec, and view "numbers" where that is on -> "#player-0--collective-all_reduce--algorithm-ring--nranks-4..."
export function encode(state, index) {
  const fields = FIELDS.filter((name) => state[name] != null && state[name] !== "slots");
  return `#player-${index}${fields.map((name) => `--${name}-${state[name]}`).join("")}`;
}

// The fields of a link made for this player, or null when it is about something else.
export function decode(hash, index) {
  const [head, ...parts] = hash.split("--");
  if (head !== `#player-${index}`) return null;
  const state = {};
  for (const part of parts) {
    const cut = part.indexOf("-");
    const [name, text] = [part.slice(0, cut), part.slice(cut + 1)];
    if (!FIELDS.includes(name)) return null;
    state[name] = WHOLE.has(name) ? Number(text) : text;
    if (WHOLE.has(name) && !/^\d+$/.test(text)) return null;
  }
  return state;
}

// A spec is taken from outside only when the catalogue and the links know it; returns what is wrong, or null.
export function refuse(spec, catalogue, links) {
  const entry = find(catalogue, spec);
  if (!spec.schedule && !entry) return `no schedule ${spec.collective} by ${spec.algorithm}`;
  if (!spec.schedule && !entry.nranks.includes(spec.nranks)) return `${spec.nranks} ranks`;
  if (!spec.schedule && spec.nchunks != null && !entry.nchunks?.includes(spec.nchunks)) return `${spec.nchunks} chunks`;
  if (!links.some(({ slug }) => slug === spec.link)) return `no link ${spec.link}`;
  return Number.isSafeInteger(spec.nbytes) && spec.nbytes >= 0 ? null : `${spec.nbytes} bytes`;
}

export const find = (catalogue, { collective, algorithm }) =>
  catalogue.find((entry) => entry.collective === collective && entry.algorithm === algorithm);

// The size as the shortest text that parses back to exactly it.
function sizeText(nbytes) {
  const whole = [1024 ** 4, 1024 ** 3, 1024 ** 2, 1024].find((unit) => nbytes >= unit && nbytes % unit === 0 && nbytes / unit < 1024);
  return whole ? `"${nbytesText(nbytes)}"` : `${nbytes}`;
}

// A cell that shows the same player.
export function python(spec, trace) {
  const own = !spec.collective;
  const options = [
    !own && `nranks=${spec.nranks}`,
    !own && spec.root ? `root=${spec.root}` : "",
    !own && spec.nchunks != null ? `nchunks=${spec.nchunks}` : "",
    `nbytes=${sizeText(spec.nbytes)}`,
    `link="${spec.link}"`,
    spec.step ? `step=${spec.step}` : "",
  ].filter(Boolean).join(", ");
  const what = own ? `"""${trace.text}"""` : `"${spec.collective} ${spec.algorithm}"`;
  return ["from helpers.view import player", "", `player(${what}, ${options})`].join("\n");
}
