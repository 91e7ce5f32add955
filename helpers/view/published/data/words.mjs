// What is said of runs; as words.py, tested equal.
import { bandwidthText, count, nbytesText, secondsText } from "../../shared/page/numbers.mjs";

export const LETTERS = "ABC";
export const MARK = "†";
const FACTOR_NOTE = ", one way per GPU";

const listed = (words) => [words.slice(0, -1).join(", "), words.at(-1)].filter(Boolean).join(" and ");

export function ran({ loaded, version, folder, setting, table, isNamedOtherwise }) {
  const release = loaded ? `NCCL ${loaded}` : "NCCL not stated";
  const told = isNamedOtherwise ? ` ${MARK} folder ${folder}` : "";
  const byFolder = version === null && folder ? " by its folder" : "";
  return [`${release}${byFolder}${told}`, folder ? "" : table.by, setting].filter(Boolean).join(", ");
}

export const nameOf = (run) =>
  `${run.collective} on ${run.nranks} ${run.gpu}${run.dtype ? `, ${run.dtype}` : ""}, ${ran(run)}`;

// curves: [{ letter, run }]
export function reading(curves, nbytes) {
  let told = false;
  const said = curves.map(({ letter, run }) => {
    const i = run.sizes.indexOf(nbytes);
    if (i < 0) return `${letter} was not measured there`;
    const of = told ? "" : ` busbw${FACTOR_NOTE}`;
    told = true;
    return `${letter} ${secondsText(run.seconds[i])} (${bandwidthText(run.busbw[i])}${of})`;
  });
  return `A call of ${nbytesText(nbytes)}: ${listed(said)}.`;
}

export function percent(share) {
  const whole = Math.floor(100 * share + 0.5);
  return whole ? `${whole} %` : "under 1 %";
}

export const misses = ({ model, seconds }) =>
  model && Math.max(...model.map((one, i) => Math.abs(one.seconds / seconds[i] - 1)));

export function summary(run) {
  const { sizes } = run;
  const ends = [sizes[0], sizes.at(-1)].map(nbytesText);
  const span = sizes.length === 1 ? `one size, ${ends[0]}` : `${sizes.length} sizes, ${ends.join(" to ")}`;
  const repeats = Math.max(...run.repeats);
  const often = repeats > 1 ? `, up to ${count(repeats, "time")} each` : "";
  const most = `at most ${bandwidthText(Math.max(...run.busbw))} busbw${FACTOR_NOTE}`;
  const model = misses(run);
  const off = model === null ? "" : `; NCCL's model misses by ${percent(model)} at worst`;
  const line = run.line ? `${off ? ", a line" : "; a line misses"} by ${percent(run.line.worst)}` : "";
  return `${span}${often}; ${most}${off}${line}.`;
}

export function oddity({ version, folder, isNamedOtherwise, isWorkedOut, note }) {
  if (isNamedOtherwise) {
    return (
      `${MARK} The rows state NCCL ${version}, the folder that they lie in says ${folder}. We take the rows' word. Where a ` +
      "version changed NCCL's choice, it can be checked: all_reduce of 8 MiB on 4 B200 keeps time with folder 2.29.2."
    );
  }
  if (version === null && folder) return "The rows state no version: the folder's is taken.";
  if (isWorkedOut) return "Published as bandwidths: the times are worked out from them, with as few digits.";
  return note ?? "";
}
