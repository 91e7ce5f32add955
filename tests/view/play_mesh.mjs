// Computes the cases of a JSON file with the widget's own modules; prints what it found as JSON. Driven by test_mesh_equal.py.
import { readFileSync } from "node:fs";
import { ALL, coordinates, crossing, groups, nranksOf, refusal, words } from "../../helpers/view/mesh/axes.mjs";
import { decode, encode, fits, python } from "../../helpers/view/mesh/link.mjs";
import { letterOf, marks } from "../../helpers/view/mesh/ranks.mjs";

const { specs, refused, unfit } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function play(s) {
  const linked = decode(encode(s, 1), 1);
  return {
    sentence: words(s),
    last: coordinates(s, nranksOf(s) - 1),
    groups: ALL.map((axis) => [axis, groups(s, axis)]),
    crossing: ALL.map((axis) => [axis, crossing(s, axis)]),
    marks: marks(s),
    linked,
    fits: fits(linked),
    python: python(s),
  };
}

console.log(
  JSON.stringify({
    specs: specs.map(play),
    refused: refused.map(refusal),
    unfit: unfit.map((hash) => {
      const linked = decode(hash, 0);
      return linked && fits(linked);
    }),
    letters: Array.from({ length: 32 }, (_, i) => letterOf(i)),
  }),
);
