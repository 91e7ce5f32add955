// Computes the cases of a JSON file with the widget's own modules; prints what it found as JSON. Driven by test_calculator_equal.py.
import { readFileSync } from "node:fs";
import { changed, fits } from "../../helpers/view/calculator/panel/choosing.mjs";
import { decode, encode, python } from "../../helpers/view/calculator/link.mjs";
import { computed, highest } from "../../helpers/view/calculator/moments.mjs";
import { nearest, runOf } from "../../helpers/view/calculator/runs.mjs";

const { forms, specs } = JSON.parse(readFileSync(process.argv[2], "utf8"));

const brief = ({ name, cls, formula, times, source, nbytes, operators }) => ({
  name,
  cls,
  formula,
  times,
  source,
  nbytes,
  operators: operators.map((one) => [one.name, one.keeps, one.formula, one.nbytes, one.source]),
});

function play(spec) {
  const moments = computed(spec, forms);
  const near = nearest(spec, forms);
  const linked = decode(encode(spec, 3), 3);
  return {
    moments: moments.map(({ name, nbytes, terms }) => ({ name, nbytes, terms: terms.map(brief) })),
    highest: highest(moments).name,
    linked,
    elsewhere: decode(encode(spec, 3), 4),
    fits: fits(forms, linked),
    same: changed(forms, spec),
    run: runOf(spec, forms) ?? null,
    near: near && (runOf({ ...spec, ...near }, forms) ?? "none"),
    python: python(spec),
  };
}

const wrong = [
  undefined,
  {},
  { ...specs[0], model: "Llama-9" },
  { ...specs[0], batch: 0 },
  { ...specs[0], device: "TPU" },
  { ...specs[0], zero: 4 },
  { ...specs[0], seq: 1.5 },
  { ...specs[0], mode: "rent" },
  { ...specs[0], tensor: 3 },
  { ...specs[0], data: 3 },
];

console.log(JSON.stringify({ cases: specs.map(play), wrong: wrong.map((spec) => fits(forms, spec)) }));
