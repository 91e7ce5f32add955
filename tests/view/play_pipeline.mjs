// Computes the cases of a JSON file with the widget's own modules; prints what it found as JSON. Driven by test_pipeline_equal.py.
import { readFileSync } from "node:fs";
import { drawn } from "../../helpers/view/pipeline/own.mjs";
import { decode, encode, python } from "../../helpers/view/pipeline/link.mjs";
import { sharesText } from "../../helpers/view/pipeline/panel/shares.mjs";
import { KINDS } from "../../helpers/view/pipeline/programs.mjs";
import { alternatives, fits, interleaves, runsOf } from "../../helpers/view/pipeline/state.mjs";
import { holds, idleUntil, stopsOf } from "../../helpers/view/pipeline/timeline.mjs";
import { reading, verdict } from "../../helpers/view/pipeline/words.mjs";

const { pipelines, specs, texts, unfit } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function found(one, at) {
  const { nranks, lanes, makespan, messages, peaks, wait, most, all, held } = one;
  return {
    lanes: lanes.map((lane) => lane.map(({ kind, stage, k, start, end }) => [`${stage}${kind}${k}`, start, end])),
    held: held.map((lane) => lane.map(({ whole, weights }) => [whole, weights])),
    idle: lanes.map((_, rank) => idleUntil(one, makespan, rank)),
    holds: lanes.map((_, rank) => holds(one, rank, at)),
    messages: messages.map(({ sent, there, kind }) => [sent, there, kind === "F" ? "F" : "B"]),
    sizes: [nranks, all.length],
    makespan,
    peaks,
    wait,
    most,
  };
}

function play(s, i) {
  const runs = runsOf(pipelines, s);
  const stops = stopsOf(runs);
  const at = stops[s.step];
  const elsewhere = { ...s, text: "" }; // a page without this schedule of a reader's own
  const linked = decode(encode(s, 1, elsewhere), 1, elsewhere, drawn);
  return {
    runs: runs.map((one) => found(one, at)),
    stops,
    sentence: `${verdict(runs)} ${reading(runs, at, stops.at(-1))}`,
    half: i % 97 || s.text ? null : sharesText(alternatives(pipelines, s), s.nmicrobatches),
    linked,
    fits: fits(pipelines, linked),
    python: python(s, interleaves(pipelines, s)),
  };
}

function linked(text) {
  try {
    return drawn(text) ?? null;
  } catch {
    return null; // as decode has it
  }
}

console.log(
  JSON.stringify({
    played: specs.map(play),
    drawn: texts.map(linked),
    fit: unfit.map((one) => fits(pipelines, one)),
    kinds: Object.entries(KINDS).map(([kind, { wears, ...row }]) => [kind, row]),
  }),
);
