// Plays and prices the cases of a JSON file with the player's own modules; prints what it found as JSON. Driven by test_equal.py.
import { readFileSync } from "node:fs";
import { price } from "../../helpers/view/player/price.mjs";
import { faults, replay } from "../../helpers/view/player/replay.mjs";
import { parse } from "../../helpers/view/player/text.mjs";
import { bandwidthText, nbytesText, secondsText } from "../../helpers/view/player/units.mjs";

const { cases, sizes, times, rates } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function play({ trace, nbytes, link }) {
  const s = parse(trace.text);
  const run = replay(s, trace.before);
  const cost = price(s, nbytes, link, trace.factor);
  return {
    header: [s.collective, s.algorithm, s.nranks, s.nchunks, s.root, s.nswitches],
    states: run.states.map((state) => [...state]),
    wrong: faults(s, run, trace.after).map(({ rank, chunk }) => [rank, chunk]),
    seconds: cost.seconds,
    steps: cost.steps.map((step) => step.seconds),
    busbw: cost.busbw,
    sent: [...cost.sent[s.steps.length]],
    received: [...cost.received[s.steps.length]],
  };
}

console.log(JSON.stringify({
  cases: cases.map(play),
  sizes: sizes.map(nbytesText),
  times: times.map(secondsText),
  rates: rates.map(bandwidthText),
}));
