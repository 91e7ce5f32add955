// Schedules as programs: [rank] -> [{ kind, stage, k }]. From the packed letters of programs.py, or from the text that Python prints.
import { times } from "../shared/page/numbers.mjs";

const LETTERS = { F: "abcd", B: "ABCD", I: "ijkl", W: "wxyz" };
const KIND = new Map(Object.entries(LETTERS).flatMap(([kind, all]) => [...all].map((one, i) => [one, [kind, i]])));
export const COMPUTES = /^(\d+)([FBIW])(\d+)$/;

export const MOST = { nranks: 8, nmicrobatches: 32, nvirtual: 4 };

const unpacked = (text) =>
  text.replace(/\(([a-zA-Z]+)\)(\d+)|([a-zA-Z])(\d+)/g, (_, many, n, one, m) => (many ?? one).repeat(n ?? m));

// The microbatch is the next one of that kind and stage.
function program(letters, rank, nranks) {
  const next = {};
  return [...letters].map((letter) => {
    const [kind, chunk] = KIND.get(letter);
    next[letter] = (next[letter] ?? -1) + 1;
    return { kind, stage: chunk * nranks + rank, k: next[letter] };
  });
}

// The multiples of p that interleaving wants, else every number.
export const fitting = (known, name, nranks, nmicrobatches, nvirtual) =>
  Object.hasOwn(known, name) && Object.hasOwn(known[name].programs, `${nranks}.${nmicrobatches}.${nvirtual}`);

export const weaves = (known, name) => Object.hasOwn(known, name) && Boolean(known[name].interleaves);

export const upper = (words) => words[0].toUpperCase() + words.slice(1);

// A schedule of Python's table.
export function built(known, name, nranks, nmicrobatches, asked) {
  const nvirtual = weaves(known, name) ? asked : 1;
  const words = known[name].programs[`${nranks}.${nmicrobatches}.${nvirtual}`].split(" ");
  const programs = words.map((word, rank) => program(unpacked(word), rank, nranks));
  return { name, title: upper(known[name].title), own: false, nranks, nmicrobatches, nvirtual, programs };
}

// A reader's own, from its text: a header, a line of actions for each rank. Messages are left out: Python has proved it.
export function given(text) {
  const [head, ...lines] = text.trim().split("\n");
  const [, name, p, m, nstages] = /^(\S+) nranks=(\d+) nmicrobatches=(\d+) nstages=(\d+)$/.exec(head.trim());
  const read = (word) => COMPUTES.exec(word);
  const programs = times(+p, (rank) =>
    (lines[rank] ?? "")
      .split(/\s+/)
      .map(read)
      .filter(Boolean)
      .map(([, stage, kind, k]) => ({ kind, stage: +stage, k: +k })),
  );
  return { name, title: name, own: true, nranks: +p, nmicrobatches: +m, nvirtual: nstages / p, programs };
}
