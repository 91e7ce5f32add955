// The picture as tables: who holds what now, what every rank received so far with the arithmetic of the example values, and who
// carried how much.
import { eased, shown } from "../page/motion.mjs";
import { PERCENT, SIZES, times } from "../page/numbers.mjs";
import { table } from "../page/tools.mjs";
import { inside } from "../schedules/cells.mjs";
import { carried, nicText } from "../schedules/load.mjs";
import { timeAt } from "../schedules/model.mjs";
import { input, place, value } from "../schedules/schedule.mjs";
import { chunkText } from "../schedules/sentence.mjs";
import { idle } from "../schedules/timeline.mjs";
import { valuesIn } from "./memory.mjs";

// Rank by chunk at a state: whose contributions are inside, or the values.
export function memoryTable(view, state, numbers) {
  const { schedule: s, columns, cost, run } = view;
  const direct = s.collective === "all_to_all";
  const word = (rank, column) => {
    if (!numbers) return inside(run, state, rank, column) || "–";
    return valuesIn(view, state, rank, column).join(", ") || "–";
  };
  const head = [
    "Rank",
    ...columns.map(({ label }) => `${direct ? "from" : "chunk"} ${label}`),
    ["sent", SIZES],
    ["received", SIZES],
  ];
  const rows = times(view.places, (rank) => [
    place(s, rank),
    ...columns.map((column) => word(rank, column)),
    cost.sent[state][rank],
    cost.received[state][rank],
  ]);
  const what = numbers ? "values" : direct ? "which receivers' chunks" : "whose contributions";
  return table(`After step ${state} of ${view.last}: ${what} every rank holds`, head, rows);
}

// "4 + 7 = 11" for an addition, "11" for a copy; the first operand is what was there.
function arithmetic(view, state, { src, dst, chunk, adds }) {
  const [old, came] = [dst, src].map((rank) => value(view.run.counts(state - 1, rank, chunk), chunk));
  const now = value(view.run.counts(state, dst, chunk), chunk);
  return adds && old !== null ? `${old} + ${came ?? "nothing"} = ${now}` : `${now ?? "nothing"}`;
}

// Every transfer up to a state, latest step first.
export function logTable(view, state) {
  const { schedule: s } = view;
  const rows = [];
  for (let step = state; step > 0; step--)
    for (const t of s.steps[step - 1]) {
      rows.push([
        step,
        place(s, t.dst),
        chunkText(s, t.src, t.dst, [t.chunk]),
        place(s, t.src),
        t.adds ? "adds" : "keeps",
        arithmetic(view, step, t),
      ]);
    }
  const example = `Example values: rank r puts (3r + 5c + 2) mod 9 + 1 into chunk c, so rank 0 has ${input(0, 0)} in chunk 0`;
  return table(example, ["Step", "Receiver", "gets", "from", "and", "value then"], rows);
}

// Every link and NIC with what it carried so far, every rank with the share of the time that it was idle.
export function loadTables(view, position) {
  const { state } = shown(position);
  const { schedule: s, line, real } = view;
  const { links, nics } = carried(view, state);
  const name = (id) =>
    view.link.across ? place(s, id).replace("rank", `node ${Math.floor(id / view.link.gpus)}, rank`) : place(s, id);
  const rows = links.map(({ src, dst, bytes }) => [`${name(src)} to ${name(dst)}`, bytes]);
  const outside = [...nics].map(([id, [out, into]]) => [nicText(id), out, into]);
  const ends = [["idle by the model", line], ...(real ? [["idle in the run", real]] : [])];
  const idling = times(s.nranks, (rank) => [
    place(s, rank),
    ...ends.map(([, run]) => idle(run, rank, timeAt(run, eased(position)))),
  ]);
  const far = ["NIC", ["sent", SIZES], ["received", SIZES]];
  const when = `After step ${state} of ${view.last}:`;
  return [
    nics.size && table(`${when} what every NIC carried`, far, outside),
    table(`${when} what every link carried`, ["Link", ["carried", SIZES]], rows),
    table(
      "The share of the time so far that every rank was idle",
      ["Rank", ...ends.map(([head]) => [head, PERCENT])],
      idling,
    ),
  ].filter(Boolean);
}
