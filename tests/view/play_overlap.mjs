// Computes the cases of a JSON file with the widget's own modules; prints what it found as JSON. Driven by test_overlap_equal.py.
import { readFileSync } from "node:fs";
import { BUCKETS, othersOf, PREFETCH, stepOf } from "../../helpers/view/overlap/job.mjs";
import {
  communication,
  exposed,
  fill,
  gathered,
  hidden,
  overlap,
  secondsIn,
} from "../../helpers/view/overlap/lanes.mjs";
import { decode, encode, fits, MODES, python, SHARES, TOKENS } from "../../helpers/view/overlap/link.mjs";
import { compared, verdict } from "../../helpers/view/overlap/words.mjs";

const { cases, specs, known, links, wrong } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const told = (o) => ({
  computed: o.computed,
  computing: o.computing,
  calls: o.calls.map(({ collective, place, nbytes }) => [collective, place, nbytes]),
  spans: o.spans,
  gathered: o.gathered,
  four: [secondsIn(o), communication(o), exposed(o), hidden(o)],
});

function play({ layers, bucket, before, alpha, beta, units, ahead }) {
  const secondsOf = (nbytes) => alpha + nbytes * beta;
  if (units) {
    const named = units.map(([forward, backward, nbytes]) => ({ forward, backward, nbytes }));
    return told(gathered(named, ahead, secondsOf));
  }
  const buckets = fill(layers, bucket, before);
  const computed = layers.reduce((all, [seconds]) => all + seconds, before);
  return {
    ...told(overlap(computed, buckets, secondsOf)),
    buckets: buckets.map(({ ready, nbytes }) => [ready, nbytes]),
  };
}

function drawn(s) {
  const [o, others] = [stepOf(s, known, links), othersOf(s, known, links)];
  const linked = decode(encode(s, 3), 3);
  const sentence = `${verdict(s, o)} ${compared(s, others)}`;
  return { step: o.measured ? null : told(o), sentence, linked, fits: fits(linked, known, links), python: python(s) };
}

console.log(
  JSON.stringify({
    cases: cases.map(play),
    specs: specs.map(drawn),
    offered: { bucket: BUCKETS, prefetch: PREFETCH, mode: MODES, tokens: TOKENS, share: SHARES },
    unfit: wrong.map((one) => fits({ ...specs[0], ...one }, known, links)),
    foreign: decode("#routing-0--nranks-4", 0),
  }),
);
