// Computes the cases of a JSON file with the widget's own modules; prints what it found as JSON. Driven by test_primitive_equal.py.
import { decode, encode, fits } from "../../helpers/view/primitive/link.mjs";
import {
  gets,
  gives,
  numberText,
  origins,
  outcome,
  readRows,
  rowsText,
  share,
  usual,
  usualLength,
} from "../../helpers/view/primitive/numbers.mjs";
import { fromSpec, specOf } from "../../helpers/view/primitive/state.mjs";
import { code, runnable } from "../../helpers/view/primitive/words.mjs";
import { readFileSync } from "node:fs";

const { primitives, specs, numbers, texts, shares } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function play(spec) {
  const s = fromSpec(primitives, spec);
  const after = outcome(s);
  const linked = decode(encode(spec, 3), 3);
  return {
    after,
    origins: origins(s),
    gives: spec.values.map((_, rank) => gives(s, rank)),
    gets: spec.values.map((_, rank) => gets(s, rank)),
    spec: specOf(s),
    linked,
    fits: fits(primitives, linked),
    rows: readRows(rowsText(spec.values)),
    shown: after.map((row) => row.map(numberText)),
    usualLength: usualLength(s.p, s.nranks),
    code: code(s, after),
    runnable: runnable(s),
  };
}

console.log(
  JSON.stringify({
    cases: specs.map(play),
    numbers: numbers.map(numberText),
    rows: texts.map(readRows),
    shares: shares.map(([key, nranks]) => share(key, nranks)),
    usual: [usual(0, 0), usual(2, 3), usual(15, 15)],
  }),
);
