// A reader's own numbers as a curve: what nccl-tests printed, or the JSON that `make gpu-check` or `bench` wrote. Nothing is sent.
import { ncclTestsTables } from "../../shared/read/tables/nccl_tests.mjs";
import { Refused } from "../../shared/read/refused.mjs";
import { lineThrough } from "./line.mjs";
import { factorOf } from "./runs.mjs";

const NAME = { alltoall: "all_to_all" };
const isPositive = (value) => typeof value === "number" && Number.isFinite(value) && value > 0;

// One curve. points: [{ nbytes, seconds, most, busbw }], sizes ascending and each once.
function curve(name, points, from, spread) {
  const sorted = [...new Map(points.map((one) => [one.nbytes, one])).values()].sort((a, b) => a.nbytes - b.nbytes);
  if (!sorted.length) throw new Refused(`${name}: no size has a time and a bandwidth`);
  const pick = (field) => sorted.map((one) => one[field]);
  const [sizes, seconds] = [pick("nbytes"), pick("seconds")];
  const most = sorted.map((one) => one.most ?? one.seconds);
  const repeats = most.map((value, i) => (value > seconds[i] ? 2 : 1));
  const own = { name, sizes, seconds, busbw: pick("busbw"), least: seconds, most, repeats, spread, from };
  return { ...own, model: null, line: lineThrough(sizes, seconds), version: "", folder: null };
}

// Below 0.005 GB/s busbw is printed as 0.00: there it follows from the time, by the factor of the collective.
function half({ nbytes }, timing, factor) {
  if (!timing || !nbytes) return null;
  const seconds = timing.seconds ?? nbytes / timing.algbw;
  const busbw = timing.busbw || (nbytes / seconds) * factor;
  return isPositive(seconds) && isPositive(busbw) ? { nbytes, seconds, busbw } : null;
}

const KNOWN = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce"];

const HALVES = [
  ["out_of_place", "out of place"],
  ["in_place", "in place"],
];

function ofTable(table) {
  const over = table.nranks === null ? "" : ` on ${table.nranks} ranks`;
  const collective = NAME[table.collective] ?? table.collective;
  const name = `yours: ${collective ?? "a collective"}${over}`;
  const factor = KNOWN.includes(collective) && table.nranks > 1 ? factorOf(collective, table.nranks) : 0;
  const told = [
    ["Software", `nccl-tests ${table.tests ?? "of unknown version"}, NCCL ${table.nccl ?? "not stated"}`],
    ["GPUs", [...new Set(table.devices.map((one) => one.name))].join(", ") || null],
  ].filter(([, words]) => words);
  const found = HALVES.map(([which, words]) => [
    table.rows.map((row) => half(row, row[which], factor)).filter(Boolean),
    words,
  ]);
  const kept = found.filter(([points]) => points.length);
  return kept.map(([points, words]) => curve(kept.length > 1 ? `${name}, ${words}` : name, points, told));
}

const provenance = ({ label, machine, versions, date, command }) =>
  [
    ["What", label],
    ["Machine", machine && (machine.gpus?.length ? machine.gpus.join(", ") : machine.cpu)],
    [
      "Versions",
      versions &&
        Object.entries(versions)
          .map((pair) => pair.join(" "))
          .join(", "),
    ],
    ["Date", date],
    ["Command", command],
  ].filter(([, words]) => typeof words === "string" && words);

// gpu-bandwidth.json: for each collective a row a size, its least time and its median.
function ofCheck(told) {
  return Object.entries(told.data).map(([collective, rows]) => {
    const points = rows.map((row, i) => {
      for (const field of ["nbytes", "min", "median", "busbw"]) {
        if (!isPositive(row?.[field])) {
          throw new Refused(
            `data.${collective}.${i}.${field} is a positive number, got ${JSON.stringify(row?.[field])}`,
          );
        }
      }
      return { nbytes: row.nbytes, seconds: row.min, most: row.median, busbw: row.busbw };
    });
    return curve(`yours: ${collective}, ${told.label}`, points, provenance(told), "the least time, and the median");
  });
}

const isCheck = ({ data }) =>
  data &&
  typeof data === "object" &&
  !Array.isArray(data) &&
  Object.values(data).length > 0 &&
  Object.values(data).every(
    (rows) => Array.isArray(rows) && rows.length > 0 && rows.every((row) => row && "busbw" in row),
  );

// text -> curves, at least one; Refused with a reason otherwise.
export function ownCurves(text) {
  const told = asJson(text);
  if (told && !("results" in told)) {
    if (isCheck(told)) return ofCheck(told);
    const what = told.name ? `the JSON ${JSON.stringify(told.name)}` : "this JSON";
    throw new Refused(`${what} has no bandwidths by size: of gpu-check's files, gpu-bandwidth.json has them`);
  }
  const found = ncclTestsTables(text).flatMap(ofTable);
  if (!found.length) throw new Refused("no row of this table has a time and a bandwidth");
  return found;
}

function asJson(text) {
  try {
    const told = JSON.parse(text);
    return told && typeof told === "object" && !Array.isArray(told) ? told : null;
  } catch {
    return null;
  }
}
