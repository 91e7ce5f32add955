// Plays and prices the cases of a JSON file with the player's own modules; prints what it found as JSON. Driven by test_equal.py.
import { together } from "../../helpers/view/player/state/together.mjs";
import { shown } from "../../helpers/view/shared/page/motion.mjs";
import { bandwidthText, nbytesText, secondsText, times } from "../../helpers/view/shared/page/numbers.mjs";
import { carried } from "../../helpers/view/shared/schedules/load.mjs";
import { price } from "../../helpers/view/shared/schedules/price.mjs";
import { faults, parse, replay } from "../../helpers/view/shared/schedules/schedule.mjs";
import { idle, modelled } from "../../helpers/view/shared/schedules/timeline.mjs";
import { readFileSync } from "node:fs";

const { cases, sizes, times: spans, rates } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function play({ trace, nbytes, link }) {
  const s = parse(trace.text);
  const run = replay(s, trace.before);
  const cost = price(s, nbytes, link, trace.factor);
  const line = modelled(cost, s.nranks + s.nswitches);
  const load = carried({ cost, link }, s.steps.length);
  return {
    header: [s.collective, s.algorithm, s.nranks, s.nchunks, s.root, s.nswitches],
    states: run.states.map((state) => [...state]),
    wrong: faults(s, run, trace.after).map(({ rank, chunk }) => [rank, chunk]),
    seconds: cost.seconds,
    steps: cost.steps.map((step) => step.seconds),
    busbw: cost.busbw,
    protocol: cost.protocol,
    sent: [...cost.sent[s.steps.length]],
    received: [...cost.received[s.steps.length]],
    links: load.links.map(({ src, dst, bytes }) => [src, dst, bytes]),
    nics: [...load.nics],
    idle: times(s.nranks, (rank) => idle(line, rank, line.seconds)),
    ends: cost.steps.map(({ messages }) =>
      Math.max(...messages.flatMap((m) => [m.sendAt, m.recvAt].map((at) => at + m.alpha + m.transfer))),
    ),
    line,
  };
}

// Two runs on one clock: where it stops, and how many steps of each are over then.
function pair(one, two) {
  const clock = together([one.line, two.line]);
  const over = (stop) => clock.at(stop).map((position) => shown(position).state);
  const all = times(clock.last + 1, (stop) => stop);
  return { stops: all.map(clock.seconds), done: all.map(over), first: over(0), last: over(clock.last) };
}

const played = cases.map(play);

console.log(
  JSON.stringify({
    pairs: played.slice(0, 200).map((one, i) => pair(one, played[i + 1])),
    cases: played.map(({ line, ...told }) => told),
    sizes: sizes.map(nbytesText),
    times: spans.map(secondsText),
    rates: rates.map(bandwidthText),
  }),
);
