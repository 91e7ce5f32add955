// Proves, reads and scores the cases of a JSON file with the playground's own modules; prints what it found.
// Driven by test_playground_equal.py.
import { decode, encode, fits, python } from "../../helpers/view/playground/link.mjs";
import { chunkCounts, least, pledge, unfit } from "../../helpers/view/playground/proof/pledge.mjs";
import { prove } from "../../helpers/view/playground/proof/proof.mjs";
import { forbidden } from "../../helpers/view/playground/proof/rules.mjs";
import { moves, standing } from "../../helpers/view/playground/proof/score.mjs";
import { read, scheduleText } from "../../helpers/view/playground/writing.mjs";
import { parse, replay } from "../../helpers/view/shared/schedules/schedule.mjs";
import { readFileSync } from "node:fs";

const { cases, shapes, texts, tasks, attempts, known } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function proved(text) {
  const s = parse(text);
  const found = prove(s);
  const state = { s, nbytes: 1024, link: "nvlink-4", step: 0, task: null };
  return {
    verdict: found && {
      message: found.message,
      rank: found.rank ?? null,
      chunk: found.chunk ?? null,
      step: found.step ?? null,
      from: found.from ?? null,
    },
    states: unfit(s) ? null : replay(s, pledge(s).before).states.map((one) => [...one]),
    moves: moves(s),
    text: scheduleText(s),
    linked: fits(s) ? scheduleText(decode(encode(state, 2), 2, known).s) : null,
    link: encode(state, 2),
    cell: python(s, 1024, "nvlink-4"),
  };
}

function typed({ text, shape }) {
  const { s, error } = read(text, shape);
  return error ? { error } : { text: scheduleText(s) };
}

function attempted({ text, name }) {
  const s = parse(text);
  const task = tasks.find((one) => one.name === name);
  return { proof: prove(s)?.message ?? null, rule: forbidden(s, task.rules), standing: standing(s, task) };
}

console.log(
  JSON.stringify({
    cases: cases.map(proved),
    shapes: shapes.map((s) => ({ ...pledge(s), least: least(s), counts: chunkCounts(s) })),
    texts: texts.map(typed),
    attempts: attempts.map(attempted),
  }),
);
