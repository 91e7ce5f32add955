// What may be asked, as spec.py has it: what of it goes together, the whole of it as a link and as a line of Python.
import { call, cell, py, tuple } from "../shared/page/copied.mjs";
import { times } from "../shared/page/numbers.mjs";
import { built, MOST, parsed, placed, run, written } from "./timeline.mjs";

export const PARTS = { forward: [0.25, 8], input: [0.25, 8], weight: [0.25, 8], hop: [0, 4] };
const GRAIN = 0.25;
const UNIT = { forward: 1, input: 1, weight: 1, hop: 0 };

export const weaves = ({ schedules }, name) => Object.hasOwn(schedules, name) && Boolean(schedules[name].interleaves);
const shown = ({ schedule, versus, text }) => [text ? "" : schedule, versus].filter(Boolean);
export const interleaves = (known, s) => shown(s).some((name) => weaves(known, name));

// How many microbatches apart the slider's places are, and its last place.
export const apart = (known, s) => (interleaves(known, s) ? s.nranks : 1);
export const last = (known, s) => MOST.nmicrobatches - (MOST.nmicrobatches % apart(known, s));

// What of Python's table has to be loaded before it is drawn: a file for each schedule.
export const fileOf = (name) => `pipeline-${name}`;
export const needs = (s) => shown(s).map(fileOf);
export const lacking = ({ schedules }, s) =>
  shown(s).filter((name) => Object.hasOwn(schedules, name) && !schedules[name].texts);

// A spec with what goes together: microbatches a multiple of the ranks where something interleaves, stages only there.
export function settled(known, s) {
  if (s.text && interleaves(known, s) && s.nmicrobatches % s.nranks) return settled(known, { ...s, versus: "" });
  const by = apart(known, s);
  const nmicrobatches = Math.min(last(known, s), Math.max(by, Math.round(s.nmicrobatches / by) * by));
  return { ...s, nmicrobatches, nvirtual: interleaves(known, s) ? s.nvirtual : 1 };
}

// Another choice: what interleaves begins with two stages per rank.
export function changed(known, s, change) {
  const next = { ...s, ...change };
  if (interleaves(known, next) && !interleaves(known, s)) next.nvirtual = 2;
  return settled(known, next);
}

export function runsOf(known, s) {
  const { nranks, nmicrobatches, nvirtual } = s;
  const of = (name) => built(known, name, nranks, nmicrobatches, nvirtual);
  const first = s.text ? parsed(s.text, known) : of(s.schedule);
  return [first, ...(s.versus ? [of(s.versus)] : [])].map((one) => run(one, s, s.fsdp));
}

// Where the cursor stops: the start, and whenever a computation begins or ends.
export const stopsOf = (runs) =>
  [...new Set([0, ...runs.flatMap(({ all }) => all.flatMap(({ start, end }) => [start, end]))])].toSorted(
    (a, b) => a - b,
  );

// The microbatches that the slider offers, each with its run of the first schedule.
export function alternatives(known, s) {
  if (s.text) return [];
  const by = apart(known, s);
  return times(last(known, s) / by, (i) => run(built(known, s.schedule, s.nranks, (i + 1) * by, s.nvirtual), s));
}

// Can a spec from outside be drawn? Of a schedule that is not loaded yet, its last step is not known.
export function fits(known, s) {
  const isIn = (value, [least, most], grain = 1) => value % grain === 0 && value >= least && value <= most;
  if (!Number.isInteger(s.step) || typeof s.fsdp !== "boolean") return false;
  if (!Object.entries(PARTS).every(([name, ends]) => isIn(s[name], ends, GRAIN))) return false;
  if (!Object.entries(MOST).every(([name, most]) => isIn(s[name], [1, most]))) return false;
  if (!shown(s).every((name) => Object.hasOwn(known.schedules, name))) return false;
  if (JSON.stringify(settled(known, s)) !== JSON.stringify(s)) return false;
  return lacking(known, s).length > 0 || s.step < stopsOf(runsOf(known, s)).length;
}

// Whether a rank computes everything once, its backwards whole or in their parts, of stages that are its own.
function isWhole({ kinds, nranks, nmicrobatches, nvirtual, programs }) {
  const parts = Object.keys(kinds).filter((kind) => !kinds[kind].does.length);
  const owns = ({ stage, k }, rank) => stage % nranks === rank && stage < nranks * nvirtual && k < nmicrobatches;
  const doneBy = ({ kind, stage, k }) =>
    (kinds[kind].does.length ? kinds[kind].does : [kind]).map((part) => `${stage}${part}${k}`);
  const did = programs.flat().flatMap(doneBy);
  return (
    programs.every((program, rank) => program.every((one) => owns(one, rank))) &&
    new Set(did).size === did.length &&
    did.length === parts.length * nranks * nvirtual * nmicrobatches
  );
}

// A schedule of a reader's own that a link brings: Python proves what is pasted, here it is only drawn where all of it is there.
// -> what of a spec becomes another; undefined for what cannot be drawn
export function drawn(text, known) {
  const s = parsed(text, known);
  const isIn = ([size, most]) => Number.isInteger(s[size]) && s[size] > 0 && s[size] <= most;
  if (!new RegExp(`^${known.name}$`).test(s.name) || !Object.entries(MOST).every(isIn) || !isWhole(s)) return undefined;
  if (placed(s, UNIT).at.some((done, rank) => done < s.programs[rank].length)) return undefined;
  return { schedule: s.name, nranks: s.nranks, nmicrobatches: s.nmicrobatches, text: written(s) };
}

const NAMED = ["schedule", "versus"];
const TOLD = ["schedule", "nranks", "nmicrobatches", "nvirtual", ...Object.keys(PARTS), "versus", "step"];
const OWN = "own";

const toldOf = (s, part) => (part === "schedule" && s.text ? OWN : s[part] === "" ? "none" : s[part]);
const packed = (text) => encodeURIComponent(text).replaceAll("%20", "+");
const unpacked = (words) => decodeURIComponent(words.replaceAll("+", "%20"));

// A reader's own schedule stands at the end of a link, unless it is the page's own.
export function encode(s, index, base) {
  const parts = TOLD.map((part) => `--${part}-${toldOf(s, part)}`).join("");
  const text = s.text && s.text !== base.text ? `--text-${packed(s.text)}` : "";
  return `#pipeline-${index}${parts}${s.fsdp ? "--fsdp" : ""}${text}`;
}

// The spec in a link made for this widget, over the author's own; null when it is about something else.
export function decode(hash, index, base, known) {
  const values = TOLD.map((part) => `--${part}-(${NAMED.includes(part) ? "[\\w-]+?" : "[\\d.]+"})`).join("");
  const found = new RegExp(`^#pipeline-${index}${values}(--fsdp)?(?:--text-([\\w.~!*'()%+-]+))?$`).exec(hash);
  if (!found) return null;
  const [fsdp, words] = found.slice(TOLD.length + 1);
  const told = TOLD.map((part, i) => [part, NAMED.includes(part) ? found[i + 1] : Number(found[i + 1])]);
  const { schedule, versus, step, ...rest } = Object.fromEntries(told);
  const whole = { ...base, ...rest, schedule, text: "", versus: versus === "none" ? "" : versus };
  Object.assign(whole, { fsdp: Boolean(fsdp), step });
  return schedule === OWN ? { ...whole, ...ownOf(words, base, known) } : whole;
}

// The page's own schedule, or one that travels in the link; nothing where there is none, or it cannot be drawn.
function ownOf(words, { schedule, text }, known) {
  if (!words) return text && { schedule, text };
  try {
    return drawn(unpacked(words), known);
  } catch {
    return undefined; // no text at all
  }
}

export function python(s, known) {
  const first = s.text ? py`PipelineSchedule.parse(${s.text})` : s.schedule;
  const size = s.text ? {} : { nranks: s.nranks, nmicrobatches: s.nmicrobatches };
  const options = {
    ...size,
    nvirtual: interleaves(known, s) ? s.nvirtual : undefined,
    times: tuple(Object.keys(PARTS).map((part) => s[part])),
    versus: s.versus || undefined,
    fsdp: s.fsdp || undefined,
    step: s.step,
  };
  const more = s.text ? [py`from helpers.pipeline import PipelineSchedule`] : [];
  return cell(...more, py`from helpers.view import explore_pipeline`, "", call("explore_pipeline", [first], options));
}
