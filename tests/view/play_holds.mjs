// Computes the cases of a JSON file with the widget's own modules; prints what it found as JSON. Driven by test_holds_equal.py.
import { readFileSync } from "node:fs";
import { decode, encode, fits, python } from "../../helpers/view/holds/link.mjs";
import { byClass, matched, momentsOf, NAMES, peak, ranksOf, states, words } from "../../helpers/view/holds/steps.mjs";

const { known, specs, unfit } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function play(s) {
  const linked = decode(encode(s, 3), 3);
  return {
    sentence: words(known, s).join(" "),
    sizes: byClass(known, s.way, s.at, s.rank),
    states: states(known, s.way, s.at, s.rank),
    linked,
    fits: fits(known, linked),
    python: python(s),
  };
}

const ways = Object.keys(NAMES);
console.log(
  JSON.stringify({
    specs: specs.map(play),
    unfit: unfit.map((wrong) => fits(known, { ...specs[0], ...wrong })),
    matched: ways.flatMap((way) =>
      momentsOf(known, way).flatMap((_, at) => ways.map((other) => [way, at, other, matched(known, way, at, other)])),
    ),
    peaks: ways.map((way) => [way, Array.from({ length: ranksOf(known, way) }, (_, rank) => peak(known, way, rank))]),
    other: decode("#holds-0--way-ddp--beside-none--at-1--rank-0", 1),
  }),
);
