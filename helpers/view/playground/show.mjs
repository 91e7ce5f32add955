// What stands there: a schedule, where the reader is in it, what is said and judged of it.
import { compute } from "../shared/schedules/model.mjs";
import { keeper } from "./editing.mjs";
import { choosing } from "./panel/choosing.mjs";
import { drawnFigures } from "./panel/saying.mjs";
import { byAdding, least, pledge } from "./proof/pledge.mjs";
import { scheduleText, stepsText } from "./writing.mjs";

export function task(widget) {
  return widget.tasks.find(({ name }) => name === widget.ui.task) ?? null;
}

export function state(widget) {
  return {
    s: widget.ui.s,
    nbytes: widget.ui.nbytes,
    link: widget.ui.link,
    step: Math.round(widget.move.clock().target),
    task: widget.ui.task,
  };
}

export function tell(widget, text) {
  return widget.parts.notice.replaceChildren(text);
}

export function refuse(widget, text) {
  const { ui, parts } = widget;
  const isNews = ui.error !== text;
  ui.error = text;
  if (isNews) judge(widget, null);
  parts.text.setAttribute("aria-invalid", `${text !== null}`);
  parts.problem.textContent = text ?? "";
}

export function write(widget) {
  const { parts, ui } = widget;
  refuse(widget, null);
  parts.text.value = stepsText(ui.s.steps);
}

export function step(widget, go) {
  Object.assign(widget.ui, { fresh: false, picked: null });
  go();
}

export function lift(widget, spot) {
  const { ui, draws } = widget;
  ui.picked = spot;
  draws.draw();
  if (spot) speak(widget);
}

const UNJUDGED = "Not checked yet.";
const UNREAD = "No verdict: picture and figures are those of the last text that was a schedule.";

export function judge(widget, words) {
  const none = widget.ui.error ? UNREAD : UNJUDGED;
  const { classList } = widget.parts.verdict;
  classList.toggle("bim-wrong-text", words?.kept === false);
  classList.toggle("bim-right-text", words?.kept === true);
  widget.parts.verdict.textContent = words ? `${words.lead} ${words.text}` : none;
  if (words) widget.parts.live.textContent = widget.parts.verdict.textContent;
}

export function speak(widget) {
  const { draws, ui, parts, move, world } = widget;
  const { lead, text } = draws.words();
  if (!ui.fault) parts.live.textContent = `${lead}: ${text}`;
  if (!move.moving()) world.share();
}

// Another schedule, where to stand in it, and what is said instead of the step's sentence; run: typing that goes on.
export function edit(widget, s, here, said = null, run = null) {
  const { ui, world } = widget;
  take(widget, s, here, said);
  ui.past.push({ s, here, task: ui.task }, run);
  tools(widget);
  world.share();
}

export function revisit(widget, by) {
  const { ui, world } = widget;
  const then = ui.past.go(by);
  ui.task = then.task;
  take(widget, then.s, then.here);
  tools(widget);
  world.share();
}

function tools(widget) {
  const { parts, ui } = widget;
  parts.steps.undo.disabled = !ui.past.back();
  parts.steps.redo.disabled = !ui.past.on();
}

export function take(widget, s, here, said = null) {
  const { promises, ui, links, move, parts, catalogue, tasks, does, draws } = widget;
  const [top, bottom] = least(s);
  const trace = { text: scheduleText(s), ...pledge(s), factor: top / bottom, promise: promises[s.collective] };
  const view = compute(
    trace,
    ui.nbytes,
    links.find(({ slug }) => slug === ui.link),
  );
  Object.assign(ui, { s, view, fresh: false, picked: null, fault: null, judged: false });
  move.stand(s.steps.length, Math.min(here, s.steps.length));
  judge(widget, null);
  tell(widget, "");
  if (!ui.typing) write(widget);
  parts.text.rows = Math.min(16, Math.max(5, s.steps.length + 1));
  const focus = parts.controls.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
  parts.controls.replaceChildren(
    ...choosing({ ...state(widget), task: task(widget) }, { catalogue, links, tasks }, does),
  );
  if (focus) parts.controls.querySelector(`[aria-label="${focus}"]`)?.focus();
  parts.figures.replaceChildren(...drawnFigures(view, task(widget)));
  draws.redraw();
  if (said) parts.live.textContent = said;
  else speak(widget);
}

export function open(widget, next) {
  const { ui, does, parts } = widget;
  Object.assign(ui, { nbytes: next.nbytes, link: next.link, task: next.task ?? null });
  if (ui.past) edit(widget, next.s, next.step);
  else {
    ui.past = keeper({ s: next.s, here: next.step, task: ui.task });
    take(widget, next.s, next.step);
    tools(widget);
  }
  does.adds(byAdding(next.s));
  parts.live.textContent = ""; // nothing is said before the reader does something
}
