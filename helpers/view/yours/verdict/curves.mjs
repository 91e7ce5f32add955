// A reader's times as a curve. As helpers/yours/curves.py.
import { tableText } from "../../shared/read/tables/tables.mjs";
import { foundPlace } from "./places.mjs";

const RING = ["reduce_scatter", "all_gather", "scatter", "gather", "alltoall", "all_to_all"];

// busbw = algbw times this; null where it is not known.
export function busFactor(collective, nranks) {
  if (!nranks) return null;
  if (collective === "all_reduce") return (2 * (nranks - 1)) / nranks;
  if (RING.includes(collective)) return (nranks - 1) / nranks;
  return ["reduce", "broadcast"].includes(collective) ? 1 : null;
}

// The size with the highest busbw, the first of equals.
export const bestOf = ({ points }) => points.reduce((best, point) => (point.busbw > best.busbw ? point : best));

// What a command of nccl-tests needs to run it again.
export const programmed = ({ collective, nranks, hosts }) => ({
  program: `${collective ?? "all_reduce"}_perf`,
  gpus: nranks,
  hosts,
});

// Out of place where there is that half. A size without bytes or without a time is left out.
export function curveOf(known, table) {
  const { rows, collective, nranks, nccl, devices, average_busbw: average, out_of_bounds } = table;
  const points = rows.map((row) => pointOf(row, collective, nranks)).filter(Boolean);
  const halves = rows.flatMap(({ out_of_place, in_place }) => [out_of_place, in_place]);
  const wrong = halves.some((half) => half?.wrong) || Boolean(out_of_bounds);
  const place = foundPlace(known, devices);
  const hosts = new Set(devices.map(({ host }) => host)).size;
  const gpus = [...new Set(devices.map(({ name }) => name))];
  return {
    what: tableText(table),
    collective,
    nranks,
    nccl,
    points: quickest(points),
    place,
    hosts,
    gpus,
    average,
    wrong,
  };
}

// busbw anew, as two decimals are few at small sizes; as printed where the collective is not known.
function pointOf({ nbytes, out_of_place, in_place }, collective, nranks) {
  const half = out_of_place ?? in_place;
  const seconds = half && (half.seconds || (half.algbw ? nbytes / half.algbw : null));
  if (!seconds || !nbytes) return null;
  const factor = busFactor(collective, nranks);
  return { nbytes, seconds, busbw: factor === null ? half.busbw : (nbytes / seconds) * factor };
}

// By size; of a size that was taken more than once the quickest.
export function quickest(points) {
  const found = new Map();
  for (const point of points) {
    if (!(found.get(point.nbytes)?.seconds < point.seconds)) found.set(point.nbytes, point);
  }
  return [...found.values()].toSorted((one, other) => one.nbytes - other.nbytes);
}
