// What a step does, in words; for eyes, for screen readers and for tables.
import { times } from "../page/numbers.mjs";
import { messages } from "./price.mjs";
import { place } from "./text.mjs";

const listed = (words) => words.join(", ").replace(/, (?=[^,]*$)/, " and ");

// "chunk 3", "chunks 0 to 3", "all 8 chunks", "its whole buffer"
export function chunkText(s, src, dst, chunks) {
  const [first, last] = [chunks[0], chunks[chunks.length - 1]];
  if (s.collective === "all_to_all" && first === src * s.nranks + dst && first === last)
    return `its chunk for rank ${dst}`;
  if (s.nchunks === 1) return "its whole buffer";
  if (chunks.length === s.nchunks) return `all ${s.nchunks} chunks`;
  if (chunks.length === 1) return `chunk ${first}`;
  const run = chunks.every((c, i) => c === first + i);
  return `chunks ${run && chunks.length > 2 ? `${first} to ${last}` : listed(chunks)}`;
}

const deed = (s, m) => `${place(s, m.src)} sends ${chunkText(s, m.src, m.dst, m.chunks)} to ${place(s, m.dst)}`;
const effect = (m) => `, which ${m.adds ? "adds" : "keeps"} ${m.chunks.length > 1 ? "them" : "it"}`;
const whole = (s, m) => deed(s, m) + effect(m);

// Every rank sends equally much equally far: said once for all.
function uniform(s, sends) {
  const [first] = sends;
  const shift = (m) => (m.dst - m.src + s.nranks) % s.nranks;
  const same = (m) => shift(m) === shift(first) && m.chunks.length === first.chunks.length && m.adds === first.adds;
  if (sends.length !== s.nranks || sends.length < 3 || !sends.every(same)) return null;
  const far = { 1: "to the next", [s.nranks - 1]: "to the one before" }[shift(first)] ?? `${shift(first)} ranks on`;
  const many = first.chunks.length > 1 ? `${first.chunks.length} chunks` : "one chunk";
  return `every rank sends ${many} ${far}${effect(first)}: ${deed(s, first)}, and so on`;
}

export function deeds(s, step) {
  const sends = messages(step);
  if (sends.length <= 2) return sends.map((m) => whole(s, m)).join("; ");
  return uniform(s, sends) ?? `${sends.length} ranks send at once: ${whole(s, sends[0])}, and so on`;
}

// The two halves of an all_reduce, named by where the sums stand between them; "" where there are no halves.
export function phases(s, run) {
  const turn = s.steps.findIndex(([first]) => !first.adds);
  const halves = turn > 0 && s.steps.every((step, i) => step.every((t) => t.adds === i < turn));
  if (s.collective !== "all_reduce" || !halves) return s.steps.map(() => "");
  const sums = (rank) =>
    times(s.nchunks, (c) => run.counts(turn, rank, c)).some((counts) => counts.every((n) => n > 0));
  const spread = times(s.nranks, sums).filter(Boolean).length > 1;
  return s.steps.map((_, i) =>
    i < turn ? (spread ? ", reduce-scatter" : ", reduce") : spread ? ", all-gather" : ", broadcast",
  );
}

function verdict(faults) {
  if (!faults.length) return "Done: the promise is kept.";
  const [{ rank, chunk, lacks, extra }] = faults;
  const what = [lacks.length && `lacks rank ${listed(lacks)}`, extra.length && `has rank ${listed(extra)} too often`];
  const more = faults.length > 1 ? ` (${faults.length} slots are wrong)` : "";
  return `Wrong: chunk ${chunk} of rank ${rank} ${what.filter(Boolean).join(" and ")}${more}.`;
}

const upper = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

// -> { lead: "Step 3 of 6, reduce-scatter", text: "Rank 2 sends ...", end: "Done: ..." | "" }
export function sentence({ schedule: s, names, faults, promise, last }, step) {
  const end = step === last ? verdict(faults) : "";
  if (!step) return { lead: "Start", text: upper(promise), end };
  return { lead: `Step ${step} of ${last}${names[step - 1]}`, text: upper(deeds(s, s.steps[step - 1])), end };
}
