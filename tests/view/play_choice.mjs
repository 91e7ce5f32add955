// Computes the cases of a JSON file with the widget's own modules; prints what it found as JSON. Driven by test_choice_equal.py.
import { readFileSync } from "node:fs";
import {
  compared,
  measured,
  nodesOf,
  offered,
  ranksOf,
  settled,
  verdict,
  versionsOf,
} from "../../helpers/view/choice/asked.mjs";
import { curves, dots, stretches } from "../../helpers/view/choice/lines.mjs";
import { decode, encode, fits, python } from "../../helpers/view/choice/link.mjs";

const { known, published, specs } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function play(s) {
  const linked = decode(encode(s, 2), 2);
  return {
    sentence: `${verdict(known, s)} ${compared(known, published, s)}`,
    measured: measured(known, published, s, s.version) ?? null,
    linked,
    fits: fits(known, linked),
    python: python(s),
  };
}

const machines = offered(known);
console.log(
  JSON.stringify({
    specs: specs.map(play),
    offered: machines.map((name) => [name, nodesOf(known, name), versionsOf(known, name)]),
    ranks: machines.map((name) => nodesOf(known, name).map((nodes) => ranksOf(known, name, nodes))),
    stretches: specs.slice(0, 20).map((s) => stretches(known, s, s.version)),
    curves: specs.slice(0, 20).map((s) => [...curves(known, s).all.keys()]),
    drawn: specs.slice(0, 20).map((s) => {
      const { all, won } = curves(known, s);
      return { all: [...all], won };
    }),
    unfit: [{ nranks: 12 }, { nodes: 5 }, { version: "2.23.4" }, { nbytes: 2 ** 35 }, { collective: "all_to_all" }].map(
      (wrong) => fits(known, { ...specs[0], ...wrong }),
    ),
    fewer: settled(known, { ...specs[0], nranks: 12 }).nranks,
    dots: specs.slice(0, 20).map((s) => dots(known, published, s)),
    settled: settled(known, { ...specs[0], machine: "HGX-B200", nodes: 7, nranks: 5, version: "2.23.4" }),
  }),
);
