// The verdict on a run of `make gpu-check`. As helpers/yours/run/checked.py.
import { Refused } from "../../../shared/read/refused.mjs";
import { bestOf, busFactor, quickest } from "../curves.mjs";
import { cause, verdict } from "../empty.mjs";
import { gpuPlace } from "../places.mjs";
import { ofTable } from "../tables.mjs";
import { bandwidthText, nbytesText, percent } from "../texts.mjs";
import { isObject, names, number, places, wholeNumber, word } from "./fields.mjs";
import { ratesOf } from "./rates.mjs";

const CHECK = "gpu-check";
const OUTCOMES = ["passed", "failed", "skipped", "not run"];
const RANKS = /\b([1-9][0-9]{0,4}) ranks\b/;

export function ofRun(known, text, told) {
  const records = recordsOf(known.run, text);
  const gpus = places(records, CHECK, "machine", "gpus").map((i) => word(records, CHECK, "machine", "gpus", i));
  const tables = collectivesOf(records, gpus).map((one) => [
    one,
    ofTable(known, curveOf(known, records, one, gpus), told),
  ]);
  const rates = ratesOf(known, records, gpus, told ?? gpuPlace(known, gpus));
  const [collective, first] = tables.find(([one]) => one === "all_reduce") ?? tables[0] ?? ["", verdict("run", {})];
  if (first.refused) return first;
  const causes = causesOf(known, tables, rates, records);
  const said = rates.map((rate) => rate.said);
  const isHeld = first.machine || rates.some(({ bounds }) => bounds.length);
  return {
    ...first,
    kind: "run",
    what: `make gpu-check: ${word(records, CHECK, "label")}; ${word(records, CHECK, "date")}`,
    causes,
    lines: [...tables.map(([one, table]) => `${one}: ${table.sentence}`), ...said, counts(records)],
    sentence: sentence([...best(collective, first), ...rates.map(({ short }) => short)], causes, isHeld),
  };
}

// The records by name, as far as that they are there.
function recordsOf({ most }, text) {
  if (text.length > most)
    throw new Refused(`a run of gpu-check has at most ${most} letters, and this text ${text.length}`);
  let told = null;
  try {
    told = JSON.parse(text);
  } catch {
    throw new Refused("a run of gpu-check, and damaged: no JSON");
  }
  if (!isObject(told?.records) || !Object.hasOwn(told.records, CHECK))
    throw new Refused(`no run of gpu-check: expected an object with 'records', and '${CHECK}' among them`);
  return told.records;
}

// Those with a table; of the CPU's nothing is known to hold it against.
const collectivesOf = (records, gpus) =>
  gpus.length && Object.hasOwn(records, "gpu-bandwidth") ? names(records, "gpu-bandwidth", "data") : [];

function curveOf(known, records, collective, gpus) {
  const [, found] = RANKS.exec(word(records, CHECK, "label")) ?? [];
  const nranks = found ? Number(found) : null;
  const way = ["gpu-bandwidth", "data", collective];
  const factor = busFactor(collective, nranks);
  const points = places(records, ...way).map((i) => {
    const nbytes = wholeNumber(records, ...way, i, "nbytes");
    const [seconds, printed] = ["min", "busbw"].map((name) => number(records, ...way, i, name));
    return { nbytes, seconds, busbw: factor === null ? printed : (nbytes / seconds) * factor };
  });
  return {
    what: `${collective} of make gpu-check`,
    collective,
    nranks,
    nccl: word(records, CHECK, "versions", "nccl"),
    points: quickest(points),
    place: gpuPlace(known, gpus),
    hosts: 1,
    gpus: [...new Set(gpus)],
    average: null,
    wrong: false,
  };
}

// What accuses first; what several tables say, once.
function causesOf(known, tables, rates, records) {
  const ofTables = new Map();
  for (const one of tables.flatMap(([, table]) => table.causes))
    if (!ofTables.has(one.name)) ofTables.set(one.name, one);
  const found = [...ofTables.values(), ...rates.flatMap((rate) => rate.causes), ...failures(known, records)];
  return found.toSorted((one, other) => other.accuses - one.accuses);
}

// Checks that failed for one reason are one cause: what they say behind their last "raised".
function failures(known, records) {
  const groups = new Map();
  for (const name of names(records, CHECK, "data")) {
    if (word(records, CHECK, "data", name, "outcome") !== "failed") continue;
    const why = word(records, CHECK, "data", name, "why");
    const reason = why.split(" raised ").at(-1);
    groups.set(reason, [...(groups.get(reason) ?? []), [name, why]]);
  }
  return [...groups.values()].slice(0, known.run.groups).map((alike) => failure(known, alike));
}

function failure(known, [[name, why], ...more]) {
  const kind = known.run.failed.find(({ words }) => words.some((part) => name.includes(part)));
  const who = more.length ? `${name} and ${more.length} more, alike` : name;
  return cause(known, kind.name, `${who}: ${[...why].slice(0, known.run.letters).join("")}; ${kind.means}`);
}

function counts(records) {
  const found = names(records, CHECK, "data").map((name) => word(records, CHECK, "data", name, "outcome"));
  const parts = OUTCOMES.map((outcome) => `${found.filter((one) => one === outcome).length} ${outcome}`);
  return `${found.length} checks: ${parts.join(", ")}`;
}

// The shares of a curve's best, else itself; nothing where there is no curve.
function best(collective, { points, line_rate_share: ofRate, plateau_share: ofPlateau }) {
  if (!points.length) return [];
  const { busbw, nbytes } = bestOf({ points });
  const shares = [ofRate && `${percent(ofRate)} of the line rate`, ofPlateau && `${percent(ofPlateau)} of the plateau`];
  const value = `${bandwidthText(busbw)} busbw at ${nbytesText(nbytes)}`;
  return [`${collective} ${shares.filter(Boolean).join(" and ") || value}`];
}

// isHeld: whether anything is known to hold the run against.
function sentence(measured, causes, isHeld) {
  const said = measured.length ? `Measured: ${measured.join("; ")}.` : "Nothing was measured.";
  const accused = causes.find(({ accuses }) => accuses);
  if (accused) return `${said} Look first at: ${accused.name}.`;
  return said + (measured.length && isHeld ? " Nothing in it accuses the machine." : "");
}
