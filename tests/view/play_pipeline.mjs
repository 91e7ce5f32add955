// Computes the cases of a JSON file with the widget's own modules; prints what it found as JSON. Driven by test_pipeline_equal.py.
import { readFileSync } from "node:fs";
import {
  alternatives,
  decode,
  drawn,
  encode,
  fits,
  python,
  runsOf,
  stopsOf,
} from "../../helpers/view/pipeline/state.mjs";
import { holds, idleUntil, wordOf } from "../../helpers/view/pipeline/timeline.mjs";
import { sharesText, verdict } from "../../helpers/view/pipeline/words.mjs";

const { known, texts, specs, odd, unfit } = JSON.parse(readFileSync(process.argv[2], "utf8"));
for (const [name, own] of Object.entries(texts)) known.schedules[name].texts = own;

function found(one, at) {
  const { nranks, lanes, events, makespan, messages, peaks, wait, most, all, held } = one;
  return {
    lanes: lanes.map((lane) => lane.map(({ kind, stage, k, start, end }) => [`${stage}${kind}${k}`, start, end])),
    events: events.map((own) => own.map((event) => [wordOf(event), event.end])),
    held: held.map((lane) => lane.map(({ whole, weights }) => [whole, weights])),
    idle: lanes.map((_, rank) => idleUntil(one, makespan, rank)),
    holds: lanes.map((_, rank) => holds(one, rank, at)),
    messages: messages.map(({ sent, there, from, to, kind }) => [sent, there, from, to, kind]),
    sizes: [nranks, all.length],
    makespan,
    peaks,
    wait,
    most,
  };
}

function play(s, i) {
  const runs = runsOf(known, s);
  const stops = stopsOf(runs);
  const elsewhere = { ...s, text: "" }; // a page without this schedule of a reader's own
  const linked = decode(encode(s, 1, elsewhere), 1, elsewhere, known);
  return {
    runs: runs.map((one) => found(one, stops[s.step])),
    stops,
    verdict: verdict(runs),
    half: i % 97 || s.text ? null : sharesText(alternatives(known, s), s.nmicrobatches),
    linked,
    fits: fits(known, linked),
    python: python(s, known),
  };
}

function linked(text) {
  try {
    return drawn(text, known) ?? null;
  } catch {
    return null; // as decode has it
  }
}

console.log(
  JSON.stringify({ played: specs.map(play), drawn: odd.map(linked), fit: unfit.map((one) => fits(known, one)) }),
);
