// A schedule that a reader writes: read, proved and refused in the words of helpers.pipeline. Only computations count: as in
// `messages.with_messages`, the messages are placed anew, and what they would meet twice or not at all is told by their names.
import { times } from "../shared/page/numbers.mjs";
import { textRepr } from "../shared/read/python/spelled.mjs";
import { isName, misnamed } from "../shared/schedules/text.mjs";
import { built, COMPUTES, fitting, MOST } from "./programs.mjs";
import { placed } from "./timeline.mjs";

const HEADER = /^(\S+) nranks=(\d+) nmicrobatches=(\d+) nstages=(\d+)$/;
const ACTION = /^(\d+)([A-Z_]+)(\d+)$/;
const KINDS = ["F", "B", "I", "W", "SEND_F", "RECV_F", "SEND_B", "RECV_B"];
const UNIT = { forward: 1, input: 1, weight: 1, hop: 0 };

class Refused extends Error {}
const refuse = (words) => {
  throw new Refused(words);
};

const wordOf = ({ kind, stage, k }) => `${stage}${kind}${k}`;
const wordsOf = (line) => line.split(/\s+/).filter(Boolean);

function action(word) {
  const [, stage, kind, k] = ACTION.exec(word) ?? [];
  if (!KINDS.includes(kind))
    refuse(
      `an action is written stage, kind, microbatch, as "2F0", with a kind of ${KINDS.join(", ")}; got ${textRepr(word)}`,
    );
  return { kind, stage: +stage, k: +k };
}

// The text as a schedule, all that stands in it: as PipelineSchedule.parse.
function parsed(text) {
  const [first, ...lines] = text.replace(/^\n+|\n+$/g, "").split("\n");
  const [, name, ...sizes] =
    HEADER.exec(first.trim()) ??
    refuse(`the first line is "1f1b nranks=4 nmicrobatches=8 nstages=4" or alike, got ${textRepr(first)}`);
  const [nranks, nmicrobatches, nstages] = sizes.map(Number);
  const programs = lines.map((line) => wordsOf(line).map(action));
  if (!isName(name)) refuse(misnamed("name", textRepr(name)));
  for (const [what, value] of Object.entries({ nranks, nmicrobatches, nstages }))
    if (!value) refuse(`${what} is a whole number from 1 on, got ${value}`);
  if (nstages % nranks)
    refuse(`every rank has equally many stages: nstages is a multiple of nranks=${nranks}, got ${nstages}`);
  if (programs.length !== nranks) refuse(`one program for each of ${nranks} ranks, got ${programs.length}`);
  programs.forEach((program, rank) => program.forEach((one) => lives(one, rank, nranks, nstages, nmicrobatches)));
  return { name, title: name, own: true, nranks, nmicrobatches, nvirtual: nstages / nranks, programs };
}

function lives(one, rank, nranks, nstages, nmicrobatches) {
  const has = `rank ${rank} has ${wordOf(one)}`;
  if (one.stage >= nstages || one.k >= nmicrobatches)
    refuse(`${has}: stages are 0 to ${nstages - 1}, microbatches 0 to ${nmicrobatches - 1}`);
  if (one.stage % nranks !== rank) refuse(`${has}: stage ${one.stage} lives on rank ${one.stage % nranks}`);
}

// Computations and messages of each rank, each message where it is made, at both its ends.
function withMessages(s) {
  const { all, at } = placed(s, UNIT);
  const stuck = s.programs.flatMap((program, rank) =>
    at[rank] < program.length ? [`rank ${rank} before ${wordOf(program[at[rank]])}`] : [],
  );
  if (stuck.length) refuse(`computations wait for each other, or for what nobody computes: ${stuck.join("; ")}`);
  const last = s.nranks * s.nvirtual - 1;
  const programs = times(s.nranks, () => []);
  for (const one of all.toSorted((a, b) => a.end - b.end || a.rank - b.rank)) {
    programs[one.rank].push(wordOf(one));
    const next = one.stage + (one.kind === "F" ? 1 : -1);
    if (one.kind === "W" || next < 0 || next > last || next % s.nranks === one.rank) continue;
    const way = one.kind === "F" ? "F" : "B";
    programs[one.rank].push(`${one.stage}SEND_${way}${one.k}`);
    programs[next % s.nranks].push(`${next}RECV_${way}${one.k}`);
  }
  return programs;
}

// What is owed for one stage and one microbatch. Its backward is in two parts where only these are there.
function owed(s, stage, k, there) {
  const last = s.nranks * s.nvirtual - 1;
  const word = (kind) => `${stage}${kind}${k}`;
  const travels = (next) => next >= 0 && next <= last && next % s.nranks !== stage % s.nranks;
  const split = !there.has(word("B")) && (there.has(word("I")) || there.has(word("W")));
  return [
    "F",
    ...(split ? ["I", "W"] : ["B"]),
    ...(travels(stage + 1) ? ["SEND_F", "RECV_B"] : []),
    ...(travels(stage - 1) ? ["RECV_F", "SEND_B"] : []),
  ].map(word);
}

// By kind, stage and microbatch, as Python sorts actions.
function least(words) {
  const order = (a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : a.stage - b.stage || a.k - b.k);
  return wordOf(words.map(action).toSorted(order)[0]);
}

// As dry_run: everything once, nothing missing, nothing odd. The order is sound, since it was placed.
function prove(s) {
  withMessages(s).forEach((program, rank) => {
    const twice = program.find((word) => program.indexOf(word) !== program.lastIndexOf(word));
    if (twice) refuse(`rank ${rank} has ${twice} more than once`);
    const there = new Set(program);
    const all = times(s.nvirtual, (i) => times(s.nmicrobatches, (k) => owed(s, i * s.nranks + rank, k, there))).flat(2);
    const missing = all.filter((word) => !there.has(word));
    if (missing.length) refuse(`rank ${rank} never does ${least(missing)}`);
    const odd = program.filter((word) => !all.includes(word));
    if (odd.length) refuse(`rank ${rank} does ${least(odd)}, which nobody needs`);
  });
}

// A schedule as the text that reads back to it.
export function written({ name, nranks, nmicrobatches, nvirtual, programs }) {
  const head = `${name} nranks=${nranks} nmicrobatches=${nmicrobatches} nstages=${nranks * nvirtual}`;
  return [head, ...programs.map((program) => program.map(wordOf).join(" "))].join("\n");
}

function isTheTables(known, s) {
  if (!fitting(known, s.name, s.nranks, s.nmicrobatches, s.nvirtual)) return false;
  return written(built(known, s.name, s.nranks, s.nmicrobatches, s.nvirtual)) === written(s);
}

// -> { change: what of a spec becomes another } or { error: why not }
export function read(known, text) {
  try {
    const all = parsed(text);
    const s = { ...all, programs: all.programs.map((program) => program.filter((one) => COMPUTES.test(wordOf(one)))) };
    for (const [name, most] of Object.entries(MOST))
      if (s[name] > most) refuse(`the widget draws ${name} up to ${most}, got ${s[name]}`);
    prove(s);
    const { name, nranks, nmicrobatches, nvirtual } = s;
    const tables = isTheTables(known, s);
    const own = tables ? { text: "", nvirtual } : { text: written(s) };
    return { change: { schedule: name, nranks, nmicrobatches, ...own } };
  } catch (error) {
    if (error instanceof Refused) return { error: error.message };
    throw error;
  }
}
