// What the playground says: the step, the verdict, the figures.
import { h } from "../../shared/page/dom.mjs";
import { nbytesText, secondsText } from "../../shared/page/numbers.mjs";
import { deeds } from "../../shared/schedules/sentence.mjs";
import { least } from "../proof/pledge.mjs";
import { moves, shareText, standing, takes } from "../proof/score.mjs";
import { chunkName } from "./board.mjs";

const capital = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

// { lead, text } of step n (from 1) of a view; picked: the cell that waits for its receiver
export function stepWords({ schedule: s, last, promise }, n, fresh, picked) {
  const lead = fresh ? `Step ${n}, new` : `Step ${n} of ${last}`;
  if (picked)
    return {
      lead,
      text: `${capital(chunkName(s, picked[1]))} of rank ${picked[0]} is picked: now press the rank that receives it.`,
    };
  if (!fresh) return { lead, text: `${capital(deeds(s, s.steps[n - 1]))}.` };
  const task = last ? "" : `${capital(promise)}. `;
  return { lead, text: `${task}Press the cell that is sent, then the rank that receives it.` };
}

// What a check found: { text, kept, lead }
export function verdictWords(view, found, task) {
  const { schedule: s, cost, link, nbytes } = view;
  if (found?.rule)
    return { kept: false, lead: "The promise is kept, but not by the target's rules:", text: found.message };
  if (found) {
    const since = found.step && found.from !== found.step ? ` It went wrong in step ${found.from}.` : "";
    return { kept: false, lead: "Broken:", text: `${found.message}.${since}` };
  }
  const seconds = `${secondsText(cost.seconds)} for ${nbytesText(nbytes)} over ${link.name}, with ${cost.protocol},`;
  const goal = task ? ` ${standing(s, task).text}` : "";
  return {
    kept: true,
    lead: "Kept.",
    text: `It takes ${takes(s.steps.length, moves(s))}: ${seconds} by the alpha-beta model.${goal}`,
  };
}

const figure = ([name, value, note]) =>
  h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", {}, value), h("span", {}, note)));

// The figures of what is drawn so far; the target beside them where there is one.
export function drawnFigures({ schedule: s, cost, link, nbytes }, task) {
  const [share, floor] = [moves(s), least(s)];
  const bytes = ([top, bottom]) => nbytesText((nbytes * top) / bottom);
  const [steps, most] = task ? [`target ${task.steps}`, `target ${shareText(task.moves)}; `] : ["", ""];
  return [
    ["Steps", `${s.steps.length}`, steps],
    ["The busiest rank moves", shareText(share), `${most}${bytes(share)} of N = ${nbytesText(nbytes)}`],
    ["The least possible", shareText(floor), "no schedule does with less"],
    ["Time", secondsText(cost.seconds), `by the model, over ${link.name} with ${cost.protocol}`],
  ].map(figure);
}

// The step's transfers as buttons that remove them.
export function moveList(n, step, onRemove) {
  return step.map((move) =>
    h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: "bim-move",
          "aria-label": `${move.text}, remove from step ${n}`,
          click: () => onRemove(move),
        },
        move.text,
      ),
    ),
  );
}
