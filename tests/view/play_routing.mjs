// Computes the cases of a JSON file with the widget's own modules; prints what it found as JSON. Driven by test_routing_equal.py.
import { decode, encode, fits, OFFERED, python } from "../../helpers/view/routing/link.mjs";
import { layout } from "../../helpers/view/routing/picture.mjs";
import { compared, routes, verdict } from "../../helpers/view/routing/routes.mjs";
import { readFileSync } from "node:fs";

const specs = JSON.parse(readFileSync(process.argv[2], "utf8"));

function play(s) {
  const r = routes(s);
  const linked = decode(encode(s, 2), 2);
  const { slots, chosen, slot, matrix, loads, dropped } = r;
  const sentence = `${verdict(s, r)} ${compared(s, r)}`;
  const heights = OFFERED.capacity.map((capacity) => layout({ ...s, capacity }, 300).bars);
  const room = layout(s, 300);
  const most = Math.max(slots ?? 0, ...r.byExpert.flat());
  const fitsCell = Math.ceil(most / room.columns) * room.size + 4 <= room.high;
  return {
    routes: [slots, chosen, slot, matrix, loads, dropped],
    sentence,
    linked,
    fits: fits(linked),
    python: python(s),
    still: new Set(heights).size === 1,
    fitsCell,
  };
}

const wrong = [{ nranks: 3 }, { nranks: 8, experts: 4 }, { tokens: 5 }, { capacity: 1.1 }, { seed: 100 }, { skew: 55 }];
console.log(
  JSON.stringify({
    specs: specs.map(play),
    offered: OFFERED,
    unfit: wrong.map((one) => fits({ ...specs[0], ...one })),
    foreign: decode("#choice-0--nranks-4", 0),
  }),
);
