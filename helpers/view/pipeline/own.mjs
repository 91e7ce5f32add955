// A schedule of a reader's own as text. Python proves what is pasted; one that a link brings is only drawn where all of it is there.
import { times } from "../shared/page/numbers.mjs";
import { isName } from "../shared/schedules/text.mjs";
import { given, MOST } from "./programs.mjs";
import { placed } from "./timeline.mjs";

const UNIT = { forward: 1, input: 1, weight: 1, hop: 0 };

const wordOf = ({ kind, stage, k }) => `${stage}${kind}${k}`;

// A schedule as the text that reads back to it.
export function written({ name, nranks, nmicrobatches, nvirtual, programs }) {
  const head = `${name} nranks=${nranks} nmicrobatches=${nmicrobatches} nstages=${nranks * nvirtual}`;
  return [head, ...programs.map((program) => program.map(wordOf).join(" "))].join("\n");
}

// Whether a rank computes everything once, its backwards whole or in two parts.
function isWhole(program, rank, { nranks, nmicrobatches, nvirtual }) {
  const there = new Set(program.map(wordOf));
  const owed = times(nvirtual * nmicrobatches, (i) => {
    const word = (kind) => `${rank + nranks * (i % nvirtual)}${kind}${Math.floor(i / nvirtual)}`;
    return [word("F"), ...(there.has(word("B")) ? [word("B")] : [word("I"), word("W")])];
  }).flat();
  return there.size === program.length && there.size === owed.length && owed.every((word) => there.has(word));
}

// -> what of a spec becomes another; undefined for what cannot be drawn
export function drawn(text) {
  const s = given(text);
  const { name, nranks, nmicrobatches, programs } = s;
  const isIn = Object.entries(MOST).every(
    ([size, most]) => Number.isInteger(s[size]) && s[size] > 0 && s[size] <= most,
  );
  if (!isName(name) || !isIn || !programs.every((program, rank) => isWhole(program, rank, s))) return undefined;
  if (placed(s, UNIT).at.some((done, rank) => done < programs[rank].length)) return undefined;
  return { schedule: name, nranks, nmicrobatches, text: written(s) };
}
