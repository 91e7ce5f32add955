// The schedule's own notation, typed: a line a step, "0:0⇒1" adds, "0:0→1" overwrites; "=>" and "->" are taken for the arrows.
import { isName, misnamed } from "../shared/schedules/schedule.mjs";
import { MINE } from "./editing.mjs";
import { moveText, unsound } from "./proof/proof.mjs";

const WORD = /^(\d+):(\d+)(⇒|=>|→|->)(\d+)$/;
const TITLE = /^(\S+) (\S+) nranks=(\d+) nchunks=(\d+) root=(\d+|-)(?: nswitches=(\d+))?$/;

export const stepsText = (steps) => steps.map((step) => step.map(moveText).join(" ")).join("\n");

// The whole text form, header and all: what Schedule.parse reads.
export function scheduleText(s) {
  const header = `${s.collective} ${s.algorithm} nranks=${s.nranks} nchunks=${s.nchunks} root=${s.root ?? "-"}`;
  return [header, ...(s.steps.length ? [stepsText(s.steps)] : [])].join("\n");
}

// Lines that hold something: [{ line: 1.., words }]
const filled = (text) =>
  text
    .split(/\r\n?|\n/)
    .map((one, i) => ({ line: i + 1, words: one.trim().split(/\s+/).filter(Boolean) }))
    .filter(({ words }) => words.length);

// What a word lacks to be a transfer, as precisely as can be told.
function lacking(word) {
  const [, left, right] = /^([^:]*):(.*)$/.exec(word) ?? [];
  if (left === undefined) return "there is no colon after the chunk";
  if (!/^\d+$/.test(left)) return `the chunk before the colon must be a number, got “${left}”`;
  const ends = right.split(/⇒|=>|→|->/);
  if (ends.length !== 2) return "an arrow must stand between sender and receiver: ⇒ or => adds, → or -> overwrites";
  const [name, end] = /^\d+$/.test(ends[0]) ? ["receiver", ends[1]] : ["sender", ends[0]];
  return `the ${name} must be a rank's number, got “${end}”`;
}

function readMove(word) {
  const found = WORD.exec(word);
  return found && { chunk: +found[1], src: +found[2], dst: +found[4], adds: found[3] === "⇒" || found[3] === "=>" };
}

// A pasted first line that names the whole schedule, or null.
function readHeader(words) {
  const found = TITLE.exec(words.join(" "));
  if (!found) return null;
  const name = (word) => (word === "-" ? null : word);
  return {
    collective: name(found[1]),
    algorithm: name(found[2]) ?? MINE,
    nranks: +found[3],
    nchunks: +found[4],
    root: found[5] === "-" ? null : +found[5],
    nswitches: +(found[6] ?? 0),
  };
}

const oddly = (what, word, line) => ({
  line,
  word,
  short: `the ${what} is one word of at most 64 letters, digits and _ . + -`,
  message: misnamed(what, `'${word}'`),
});

// Typed text over a schedule's shape -> { s } or { error: { line, word, short, message } }; message is what Python would say.
export function read(text, shape) {
  const lines = filled(text);
  const header = lines.length && readHeader(lines[0].words);
  const body = header ? lines.slice(1) : lines;
  const odd = header && ["collective", "algorithm"].find((what) => header[what] && !isName(header[what]));
  if (odd) return { error: oddly(odd, header[odd], lines[0].line) };
  const steps = [];
  for (const { line, words } of body) {
    const moves = words.map(readMove);
    const bad = words[moves.indexOf(null)];
    if (bad)
      return {
        error: {
          line,
          word: bad,
          short: lacking(bad),
          message: `a transfer is written "chunk:src⇒dst" (adds) or "chunk:src→dst" (overwrites), got '${bad}'`,
        },
      };
    steps.push(moves);
  }
  const s = {
    ...shape,
    ...(header || { algorithm: stepsText(steps) === stepsText(shape.steps) ? shape.algorithm : MINE }),
    steps,
  };
  const fault = unsound(s);
  if (!fault) return { s };
  const { line, words } = body[fault.step - 1];
  return { error: { line, word: words[fault.index], short: fault.short, message: fault.message } };
}

// Which step the caret is in, from 0.
export function lineAt(text, caret) {
  const before = filled(text.slice(0, caret)).filter(({ words }) => !words.some((word) => word.startsWith("nranks=")));
  return Math.max(0, before.length - 1);
}

export const errorText = ({ line, word, short }) => `Line ${line}, “${word}”: ${short}.`;
