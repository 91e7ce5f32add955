// What the GPUs of a run reach, beside what is published of their kind. As helpers/yours/run/rates.py.
import { general } from "../../../shared/read/tables/text.mjs";
import { cause } from "../empty.mjs";
import { acceleratorOf } from "../places.mjs";
import { bandwidthText, percent } from "../texts.mjs";
import { number, places, word } from "./fields.mjs";

const [SHEET, BEST] = ["the data sheet", "the best that was published"];
const WAYS = ["to the GPU", "to the host"];

// { said, short, bounds, causes } of each that the run has. gpus: their names.
export function ratesOf(known, records, gpus, place) {
  const key = new Set(gpus).size === 1 ? acceleratorOf(known, gpus[0]) : null;
  const published = known.rates[key] ?? {};
  const found = [products, memory, host, pairs].map((way) => way({ known, records, published, place }));
  return found.filter(Boolean).map((rate) => told(known, rate));
}

// bounds: [value, of what, the least share of it that accuses nobody]; the last decides.
function told(known, { name, what, value, bounds, ...rate }) {
  const shares = bounds.map(([bound, of]) => `${percent(value / bound)} of ${of}`);
  const said = [`${what} ${rate.said}`, ...shares].join(", ");
  const [bound, , least] = bounds.at(-1) ?? [0, "", 0];
  const causes = value < least * bound ? [cause(known, name, said)] : [];
  return { said, short: bounds.length ? `${what} ${shares.at(-1)}` : said, bounds, causes };
}

const boundsOf = (published, wanted) =>
  wanted.filter(([name]) => name in published).map(([name, ...rest]) => [published[name], ...rest]);

const rowsOf = (records, name, ...way) => (Object.hasOwn(records, name) ? places(records, name, ...way) : []);

function products({ known: { limits }, records, published }) {
  if (!Object.hasOwn(records, "gpu-roofline")) return null;
  const [value, dtype] = [
    number(records, "gpu-roofline", "data", "flops"),
    word(records, "gpu-roofline", "data", "dtype"),
  ];
  const wanted = [
    ["flops.bf16", SHEET, limits.half],
    ["matmul.bf16", BEST, limits.healthy],
  ];
  const bounds = dtype === "bfloat16" ? boundsOf(published, wanted) : [];
  const said = `${general(value / 1e12, 4)} TFLOP/s in ${dtype}`;
  return { name: "slow products", what: "matrix products", said, value, bounds };
}

// Of the ladder the flat part that is memory, if it has one.
function memory({ known: { limits }, records, published }) {
  const way = ["gpu-ladder", "data", "steps"];
  const last = rowsOf(records, ...way)
    .filter((i) => word(records, ...way, i, "level") === "memory")
    .at(-1);
  if (last === undefined) return null;
  const value = number(records, ...way, last, "bandwidth");
  const bounds = boundsOf(published, [["hbm", SHEET, limits.healthy]]);
  return { name: "slow memory", what: "memory", said: `${bandwidthText(value)} both ways`, value, bounds };
}

// The slower way of the two, pinned, at the largest size.
function host({ known: { limits }, records, place }) {
  const way = ["gpu-transfers", "data"];
  const rows = rowsOf(records, ...way)
    .filter((i) => word(records, ...way, i, "host") === "pinned" && WAYS.includes(word(records, ...way, i, "way")))
    .map((i) => [number(records, ...way, i, "nbytes"), number(records, ...way, i, "bandwidth")]);
  if (!rows.length) return null;
  const largest = Math.max(...rows.map(([nbytes]) => nbytes));
  const value = Math.min(...rows.filter(([nbytes]) => nbytes === largest).map(([, rate]) => rate));
  const bounds = place?.slot ? [[place.slot, "what its PCIe slot passes", limits.healthy]] : [];
  return { name: "narrow slot", what: "host and GPU", said: `${bandwidthText(value)} one way`, value, bounds };
}

// The slowest way from one GPU to another. Only behind a switch are all alike.
function pairs({ known: { limits }, records, place }) {
  const way = ["gpu-pairs", "data", "bandwidth"];
  const rates = rowsOf(records, ...way).flatMap((i) =>
    places(records, ...way, i)
      .filter((j) => i !== j)
      .map((j) => number(records, ...way, i, j)),
  );
  if (!rates.length) return null;
  const value = rates.reduce((least, rate) => Math.min(least, rate));
  const bounds = place?.shape === "switch" ? [[place.inside, "the line rate", limits.healthy]] : [];
  return {
    name: "slow pair",
    what: "the slowest pair of GPUs",
    said: `${bandwidthText(value)} one way`,
    value,
    bounds,
  };
}
