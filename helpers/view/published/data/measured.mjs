// What this course's own tools wrote as curves: a run of `make gpu-check`, its gpu-bandwidth.json, and a sweep of `bench`.
import { Refused } from "../../shared/read/refused.mjs";
import { curve, isPositive } from "./curve.mjs";

const BAR = "the least time, and the median";

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

// Rows of { nbytes, busbw } and a least time and a median under these names. place: of the rows in the file.
function points(rows, least, place) {
  return rows.map((row, i) => {
    for (const field of ["nbytes", least, "median", "busbw"]) {
      if (isPositive(row?.[field])) continue;
      throw new Refused(`${place}.${i}.${field} is a positive number, got ${JSON.stringify(row?.[field])}`);
    }
    return { nbytes: row.nbytes, seconds: row[least], most: row.median, busbw: row.busbw };
  });
}

function provenance({ label, machine, versions, date, command, nccl }) {
  const made = isObject(versions) ? Object.entries(versions).map((pair) => pair.join(" ")) : [];
  const told = [
    ["What", label],
    ["Machine", machine?.gpus?.length ? machine.gpus.join(", ") : machine?.cpu],
    ["Versions", nccl ? `NCCL ${nccl}` : made.join(", ")],
    ["Date", date],
    ["Command", command],
  ];
  return told.filter(([, words]) => typeof words === "string" && words);
}

const isCheck = ({ data }) =>
  isObject(data) &&
  Object.keys(data).length > 0 &&
  Object.values(data).every((rows) => Array.isArray(rows) && rows.some((row) => isObject(row) && "busbw" in row));

const ofCheck = (told) =>
  Object.entries(told.data).map(([collective, rows]) => {
    const name = `yours: ${collective}, ${told.label}`;
    return curve(name, points(rows, "min", `data.${collective}`), provenance(told), BAR);
  });

function asked({ algorithm, protocol, channels }) {
  if (algorithm === null && protocol === null && channels === null) return "NCCL's own choice";
  const pair = `${algorithm ?? "own choice"}/${protocol ?? "own choice"}`;
  return channels === null ? pair : `${pair}, ${channels} channel${channels > 1 ? "s" : ""}`;
}

// A curve for each combination that ran; ranks that shared a GPU were not timed.
function ofSweep(told) {
  if (!told.timed) throw new Refused("the ranks of this sweep shared a GPU, so nothing was timed");
  const ran = told.cases.map((one, i) => ({ ...one, place: `cases.${i}.rows` })).filter(({ rows }) => rows?.length);
  if (!ran.length) throw new Refused("no combination of this sweep ran");
  return ran.map((one) => {
    const name = `yours: ${told.collective} on ${told.nranks} ranks, ${asked(one)}`;
    return curve(name, points(one.rows, "seconds", one.place), provenance(told), BAR);
  });
}

// A whole run of gpu-check, its records by name: curves of those that have some.
export function ofRun({ records }) {
  const found = Object.values(isObject(records) ? records : {}).filter(isObject);
  const sweeps = found.map(({ data }) => data).filter((data) => data?.kind === "sweep" && data.timed);
  const curves = [...found.filter(isCheck), ...sweeps].flatMap(measured);
  if (curves.length) return curves;
  throw new Refused(
    'this run has no bandwidths by size: it ran on one GPU, or was cut short; the page "Is my number good?" reads the rest',
  );
}

// told: an object. -> curves; Refused where it is of another kind.
export function measured(told) {
  if (told.kind === "sweep" && Array.isArray(told.cases)) return ofSweep(told);
  if (isCheck(told)) return ofCheck(told);
  const what = told.name ? `the JSON ${JSON.stringify(told.name)}` : "this JSON";
  throw new Refused(`${what} has no bandwidths by size: of gpu-check's files, gpu-bandwidth.json has them`);
}
