// What a step does, in words; for eyes, for screen readers and for tables.
import { count } from "../page/numbers.mjs";
import { messages } from "./price.mjs";
import { place, registers } from "./schedule.mjs";

const listed = (words) => words.join(", ").replace(/, (?=[^,]*$)/, " and ");

// "chunk 3", "chunks 0 to 3", "all 8 chunks", "both chunks", "its whole buffer"
export function chunkText(s, src, dst, chunks) {
  const [first, last] = [chunks[0], chunks[chunks.length - 1]];
  if (s.collective === "all_to_all" && first === src * s.nranks + dst && first === last)
    return `its chunk for rank ${dst}`;
  if (s.nchunks === 1) return "its whole buffer";
  if (chunks.length === s.nchunks) return `${s.nchunks > 2 ? `all ${s.nchunks}` : "both"} chunks`;
  if (chunks.length === 1) return `chunk ${first}`;
  const run = chunks.every((c, i) => c === first + i);
  return `chunks ${run && chunks.length > 2 ? `${first} to ${last}` : listed(chunks)}`;
}

const many = (s, id) => id >= s.nranks && registers(s); // registers send, a rank sends
const deed = (s, m) =>
  `${place(s, m.src)} ${many(s, m.src) ? "send" : "sends"} ${chunkText(s, m.src, m.dst, m.chunks)} to ${place(s, m.dst)}`;
// ", which adds them", ", which keeps it", ", which adds 2 of them and keeps 1"
function effect(s, m) {
  const [adds, keeps] = many(s, m.dst) ? ["add", "keep"] : ["adds", "keeps"];
  const all = m.chunks.length;
  if (m.adds && m.adds < all) return `, which ${adds} ${m.adds} of them and ${keeps} ${all - m.adds}`;
  return `, which ${m.adds ? adds : keeps} ${all > 1 ? "them" : "it"}`;
}

const whole = (s, m) => deed(s, m) + effect(s, m);

// Every rank sends equally much equally far: said once for all.
function uniform(s, sends) {
  const [first] = sends;
  const shift = (m) => (m.dst - m.src + s.nranks) % s.nranks;
  const same = (m) =>
    Math.max(m.src, m.dst) < s.nranks &&
    shift(m) === shift(first) &&
    m.chunks.length === first.chunks.length &&
    m.adds === first.adds;
  if (sends.length !== s.nranks || sends.length < 3 || !sends.every(same)) return null;
  const far = { 1: "to the next", [s.nranks - 1]: "to the one before" }[shift(first)] ?? `${shift(first)} ranks on`;
  const much = first.chunks.length > 1 ? `${first.chunks.length} chunks` : s.nchunks > 1 ? "one chunk" : "its buffer";
  return `every rank sends ${much} ${far}${effect(s, first)}: ${deed(s, first)}, and so on`;
}

// "4 ranks", "the switch", "2 ranks and the switch", "the registers of 4 ranks"
function senders(s, sends) {
  const ids = [...new Set(sends.map(({ src }) => src))];
  const ranks = ids.filter((id) => id < s.nranks).length;
  const rest = ids.length - ranks;
  const beyond = registers(s)
    ? `the registers of ${count(rest, "rank")}`
    : s.nswitches === 1
      ? "the switch"
      : count(rest, "switch", "switches");
  const verb = ids.length === 1 && !many(s, ids[0]) ? "sends" : "send";
  const messages = sends.length > ids.length ? ` ${sends.length} messages` : "";
  return `${listed([ranks && count(ranks, "rank"), rest && beyond].filter(Boolean))} ${verb}${messages} at once`;
}

export function deeds(s, step) {
  const sends = messages(step);
  if (sends.length <= 2) return sends.map((m) => whole(s, m)).join("; ");
  return uniform(s, sends) ?? `${senders(s, sends)}: ${whole(s, sends[0])}, and so on`;
}

// Where the sum of each chunk is whole for the first time: chunk -> ranks
function owners(s, run) {
  const [first, found] = [new Map(), new Map()];
  s.steps.forEach((step, i) =>
    step.forEach(({ adds, chunk, dst }) => {
      if (!adds || !run.counts(i + 1, dst, chunk).every((n) => n > 0)) return;
      if (!first.has(chunk)) first.set(chunk, i);
      if (first.get(chunk) === i) found.set(chunk, [...(found.get(chunk) ?? []), dst]);
    }),
  );
  return found;
}

// The two halves of an all_reduce, named by where the sums stand between them: each on one rank, and scattered over all or most; or on
// the one or two roots of trees, or whole on several. "" where there are no halves: every message is added, or a switch adds.
export function phases(s, run) {
  const all = s.steps.flat();
  if (s.collective !== "all_reduce" || s.nswitches || all.every(({ adds }) => adds)) return s.steps.map(() => "");
  const found = [...owners(s, run).values()];
  const { size } = new Set(found.flat());
  const scattered = found.every((ranks) => ranks.length === 1) && (size > 2 || size === s.nranks);
  const [up, down] = scattered ? ["reduce-scatter", "all-gather"] : ["reduce", "broadcast"];
  return s.steps.map((step) => {
    const halves = [step.some(({ adds }) => adds) && up, step.some(({ adds }) => !adds) && down];
    return `, ${halves.filter(Boolean).join(" and ")}`;
  });
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
