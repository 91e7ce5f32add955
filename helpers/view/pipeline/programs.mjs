// Schedules as programs: [rank] -> [{ kind, stage, k }]. From the packed letters of programs.py, or from the text that Python prints.
import { times } from "../shared/page/numbers.mjs";

// What is true of each computation: the rows of helpers/pipeline/action.py that compute, tested equal, and the colour that each wears.
export const KINDS = {
  F: { deed: "forward", needs: [["F", -1]], to: 1, takes: ["forward"], holds: [1, 0], does: [], wears: "bim-s0" },
  B: {
    deed: "backward",
    needs: [
      ["F", 0],
      ["I", 1],
    ],
    to: -1,
    takes: ["input", "weight"],
    holds: [-1, 0],
    does: ["I", "W"],
    wears: "bim-s1",
  },
  I: {
    deed: "the input's gradient",
    needs: [
      ["F", 0],
      ["I", 1],
    ],
    to: -1,
    takes: ["input"],
    holds: [-1, 1],
    does: [],
    wears: "bim-s3",
  },
  W: {
    deed: "the weights' gradient",
    needs: [["I", 0]],
    to: 0,
    takes: ["weight"],
    holds: [0, -1],
    does: [],
    wears: "bim-s2",
  },
};

const COMPUTES = new RegExp(`^(\\d+)(${Object.keys(KINDS).join("|")})(\\d+)$`);

export const MOST = { nranks: 8, nmicrobatches: 32, nvirtual: 4 };

// letter -> [kind, which of the rank's stages], as programs.py counts them
const LETTERS = new Map(
  Object.keys(KINDS).flatMap((kind, row) =>
    times(MOST.nvirtual, (i) => [String.fromCodePoint(97 + row * MOST.nvirtual + i), [kind, i]]),
  ),
);

const unpacked = (text) =>
  text.replace(/\(([a-zA-Z]+)\)(\d+)|([a-zA-Z])(\d+)/g, (_, many, n, one, m) => (many ?? one).repeat(n ?? m));

// The microbatch is the next one of that kind and stage.
function program(letters, rank, nranks) {
  const next = {};
  return [...letters].map((letter) => {
    const [kind, chunk] = LETTERS.get(letter);
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
