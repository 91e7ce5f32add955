// Unpacks the published runs, reads them off and links them with the widget's own modules; prints all as JSON. Driven by test_published_widget.py.
import { readFileSync } from "node:fs";
import { lineThrough } from "../../helpers/view/published/data/line.mjs";
import { unpacked } from "../../helpers/view/published/data/runs.mjs";
import { LETTERS, misses, nameOf, oddity, reading, summary } from "../../helpers/view/published/data/words.mjs";
import { decode, encode, fits, python } from "../../helpers/view/published/link.mjs";

const { known, specs } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const runs = unpacked(known);
for (const run of runs) run.line = lineThrough(run.sizes, run.seconds);

const told = runs.map((run) => ({
  key: run.key,
  table: run.table.name,
  sizes: run.sizes,
  seconds: run.seconds,
  busbw: run.busbw,
  ends: [run.least, run.most, run.repeats],
  model: run.model,
  line: run.line && [run.line.alpha, run.line.beta, run.line.worst],
  misses: misses(run),
  name: nameOf(run),
  summary: summary(run),
  oddity: oddity(run),
}));

const read = specs.map((spec) => {
  const curves = spec.curves.map((key, i) => ({ letter: LETTERS[i], run: runs.find((run) => run.key === key) }));
  const linked = decode(encode(spec, 3), 3);
  return { reading: reading(curves, spec.at), linked, fits: fits(runs, linked), python: python(spec) };
});

console.log(JSON.stringify({ runs: told, specs: read }));
