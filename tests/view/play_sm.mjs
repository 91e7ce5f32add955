// Computes the cases of a JSON file with the widgets' own modules; prints what it found as JSON. Driven by test_sm_equal.py.
import { readFileSync } from "node:fs";
import { occupancyCurve, occupancySentence, occupied } from "../../helpers/view/occupancy/count.mjs";
import { decode, encode, fits, python } from "../../helpers/view/occupancy/link.mjs";
import { banked, counts, issued, touched, warpSentence } from "../../helpers/view/warp/lanes.mjs";
import {
  python as asPython,
  fits as drawable,
  decode as fromLink,
  encode as warpLink,
} from "../../helpers/view/warp/link.mjs";

const { gpus, specs, warps } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function fill(s) {
  const gpu = gpus.find(({ name }) => name === s.gpu);
  const { blocks, warps: resident, limits, limiters } = occupied(gpu, s);
  const linked = decode(encode(s, 2), 2);
  const finite = Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => [name, limit === Infinity ? null : limit]),
  );
  return {
    blocks,
    warps: resident,
    limits: finite,
    limiters,
    sentence: occupancySentence(gpu, s),
    linked,
    fits: fits(gpus, linked),
    python: python(s),
  };
}

const look = (s) => ({
  counts: counts(s),
  issued: s.view === "branch" ? issued(s).map(({ branch, lanes }) => [branch, lanes]) : null,
  sectors: touched(s).sectors,
  lines: touched(s).lines,
  words: banked(s),
  sentence: warpSentence(s),
  linked: fromLink(warpLink(s, 1), 1),
  drawable: drawable(s),
  python: asPython(s),
});

console.log(
  JSON.stringify({
    specs: specs.map(fill),
    curves: specs.slice(0, 60).map((s) =>
      occupancyCurve(
        gpus.find(({ name }) => name === s.gpu),
        s,
      ),
    ),
    warps: warps.map(look),
  }),
);
