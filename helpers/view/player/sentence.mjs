// What a step does, in words; for eyes, for screen readers and for tables.
import { messages } from "./price.mjs";

const START = {
  all_reduce: "every rank holds its own data; at the end every rank must hold the sum of all",
  reduce: "every rank holds its own data; at the end the root must hold the sum of all",
  broadcast: "only the root holds data; at the end every rank must hold it",
  reduce_scatter: "every rank holds its own data; at the end each rank must hold one part of the sum",
  all_gather: "each rank holds one chunk; at the end every rank must hold all of them",
  scatter: "only the root holds data; at the end each rank must hold its own chunk",
  gather: "each rank holds one chunk; at the end the root must hold all of them",
  all_to_all: "each rank holds one chunk for every rank; at the end each must have reached its receiver",
};
const COUNT = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"];

const listed = (words) => (words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}` : words[0]);

// "chunk 3", "chunks 0 to 3", "all 8 chunks", "its whole buffer"
export function chunkText(s, src, dst, chunks) {
  if (s.collective === "all_to_all" && chunks.every((c) => c === src * s.nranks + dst)) return `its chunk for rank ${dst}`;
  if (s.nchunks === 1) return "its whole buffer";
  if (chunks.length === s.nchunks) return `all ${s.nchunks} chunks`;
  if (chunks.length === 1) return `chunk ${chunks[0]}`;
  const run = chunks.every((c, i) => !i || c === chunks[i - 1] + 1);
  return run && chunks.length > 2 ? `chunks ${chunks[0]} to ${chunks[chunks.length - 1]}` : `chunks ${listed(chunks)}`;
}

const place = (s, id) => (id < s.nranks ? `rank ${id}` : `switch ${id - s.nranks}`);
const effect = (m) => (m.adds === m.chunks.length ? "adds" : m.adds ? "adds some and keeps the rest of" : "keeps");
const pronoun = (m) => (m.chunks.length > 1 ? "them" : "it");

const deed = (s, m) => `${place(s, m.src)} sends ${chunkText(s, m.src, m.dst, m.chunks)} to ${place(s, m.dst)}`;
const whole = (s, m) => `${deed(s, m)}, which ${effect(m)} ${pronoun(m)}`;

// Every rank sends equally much equally far: said once for all.
function uniform(s, sends) {
  const shift = (m) => (m.dst - m.src + s.nranks) % s.nranks;
  const [first] = sends;
  const alike = sends.every((m) => shift(m) === shift(first) && m.chunks.length === first.chunks.length && m.adds === first.adds);
  if (!alike || sends.length !== s.nranks || s.nswitches || s.nranks < 3) return null;
  const far = shift(first) === 1 ? "to the next" : shift(first) === s.nranks - 1 ? "to the one before" : `${shift(first)} ranks on`;
  const many = first.chunks.length;
  return `every rank sends ${COUNT[many] ?? many} chunk${many > 1 ? "s" : ""} ${far}, which ${effect(first)} ${pronoun(first)}`;
}

export function deeds(s, step) {
  const sends = messages(step);
  const general = uniform(s, sends);
  if (general) return `${general}: ${deed(s, sends[0])}, and so on.`;
  if (sends.length <= 3) return `${sends.map((m) => whole(s, m)).join("; ")}.`;
  return `${COUNT[sends.length] ?? sends.length} ranks send at once; ${whole(s, sends[0])}.`;
}

// The two halves of an all_reduce, named by where the sums stand between them.
export function phases(s, run) {
  const turn = s.steps.findIndex((step) => step.every((t) => !t.adds));
  const clean = turn > 0 && s.steps.every((step, i) => step.every((t) => t.adds === i < turn));
  if (s.collective !== "all_reduce" || !clean) return s.steps.map(() => "");
  const holders = new Set();
  for (let rank = 0; rank < s.nranks; rank++) for (let c = 0; c < s.nchunks; c++) {
    if (run.counts(turn, rank, c).every((n) => n > 0)) holders.add(rank);
  }
  const [first, second] = holders.size > 1 ? ["reduce-scatter", "all-gather"] : ["reduce", "broadcast"];
  return s.steps.map((_, i) => (i < turn ? first : second));
}

function verdict(s, faults) {
  if (!faults.length) return "Done: the promise is kept.";
  const { rank, chunk, lacks, extra } = faults[0];
  const what = [lacks.length && `lacks rank ${listed(lacks)}`, extra.length && `has rank ${listed(extra)} too often`];
  const more = faults.length > 1 ? ` (${faults.length} slots are wrong)` : "";
  return `Wrong: chunk ${chunk} of rank ${rank} ${what.filter(Boolean).join(" and ")}${more}.`;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

// -> { lead: "Step 3 of 6, reduce-scatter", text: "rank 2 sends ...", end: "Done: ..." | "" }
export function sentence(view, step) {
  const { schedule: s, names, faults } = view;
  const n = s.steps.length;
  const end = step === n ? verdict(s, faults) : "";
  if (!step) return { lead: "Start", text: capital(`${START[s.collective] ?? "nothing has moved yet"}.`), end };
  const phase = names[step - 1] ? `, ${names[step - 1]}` : "";
  return { lead: `Step ${step} of ${n}${phase}`, text: capital(deeds(s, s.steps[step - 1])), end };
}

export const spoken = ({ lead, text, end }) => `${lead}: ${text}${end ? ` ${end}` : ""}`;
