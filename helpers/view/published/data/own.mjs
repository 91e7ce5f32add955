// A reader's own numbers as curves: what nccl-tests printed, or what this course's own tools wrote. Nothing is sent.
import { Refused } from "../../shared/read/refused.mjs";
import { ncclTestsTables } from "../../shared/read/tables/nccl_tests.mjs";
import { curve, isPositive } from "./curve.mjs";
import { measured, ofRun } from "./measured.mjs";
import { factorOf } from "./runs.mjs";

const NAME = { alltoall: "all_to_all" };
const KNOWN = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce"]; // whose factor is known
const HALVES = [
  ["out_of_place", "out of place"],
  ["in_place", "in place"],
];

// Below 0.005 GB/s busbw is printed as 0.00: there it follows from the time, by the factor of the collective.
function half({ nbytes }, timing, factor) {
  if (!timing || !nbytes) return null;
  const seconds = timing.seconds ?? nbytes / timing.algbw;
  const busbw = timing.busbw || (nbytes / seconds) * factor;
  return isPositive(seconds) && isPositive(busbw) ? { nbytes, seconds, busbw } : null;
}

function provenance({ tests, nccl, devices }) {
  const gpus = [...new Set(devices.map(({ name }) => name))].join(", ");
  const software = `nccl-tests ${tests ?? "of unknown version"}, NCCL ${nccl ?? "not stated"}`;
  return [["Software", software], ...(gpus ? [["GPUs", gpus]] : [])];
}

function ofTable(table) {
  const over = table.nranks === null ? "" : ` on ${table.nranks} ranks`;
  const collective = NAME[table.collective] ?? table.collective;
  const name = `yours: ${collective ?? "a collective"}${over}`;
  const factor = KNOWN.includes(collective) && table.nranks > 1 ? factorOf(collective, table.nranks) : 0;
  const points = (which) => table.rows.map((row) => half(row, row[which], factor)).filter(Boolean);
  const kept = HALVES.map(([which, words]) => [points(which), words]).filter(([found]) => found.length);
  const named = (words) => (kept.length > 1 ? `${name}, ${words}` : name);
  return kept.map(([found, words]) => curve(named(words), found, provenance(table)));
}

function asJson(text) {
  try {
    const told = JSON.parse(text);
    return told && typeof told === "object" && !Array.isArray(told) ? told : null;
  } catch {
    return null;
  }
}

// text -> curves, at least one; Refused with a reason otherwise.
export function ownCurves(text) {
  const told = asJson(text);
  if (told && "records" in told) return ofRun(told);
  if (told && !("results" in told)) return measured(told);
  const found = ncclTestsTables(text).flatMap(ofTable);
  if (!found.length) throw new Refused("no row of this table has a time and a bandwidth");
  return found;
}
