// Computes the cases of a JSON file with the widget's own modules; prints what it found as JSON. Driven by test_clock_browser.py.
import { readFileSync } from "node:fs";
import { crossings, known, lanesOf, readable, reading, stops, told, verdict } from "../../helpers/view/clock/lanes.mjs";
import { decode, encode, fits, python } from "../../helpers/view/clock/link.mjs";

const { links, protocols, specs } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function play(s) {
  const link = known(links, protocols).find(({ slug }) => slug === s.link);
  const lanes = lanesOf(link, protocols, s.nbytes);
  const linked = decode(encode(s, 1), 1);
  return {
    ends: lanes.map(({ end }) => end),
    readable: lanes.map((lane) => readable(lane, s.at)),
    stops: stops(lanes),
    crossings: crossings(lanes),
    told: lanes.map(told),
    sentence: `${verdict(lanes, link)} ${reading(lanes, s.at)}`,
    linked,
    fits: fits(links, protocols, linked),
    python: python(s),
  };
}

console.log(JSON.stringify(specs.map(play)));
