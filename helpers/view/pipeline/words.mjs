// What the widget says: of a whole step, and of what happens at the cursor. As words.py, tested equal.
import { count, number, percentOf } from "../shared/page/numbers.mjs";
import { grouped } from "../shared/page/sheet.mjs";
import { KINDS } from "./programs.mjs";
import { GRAINS, holds, idleUntil, now } from "./timeline.mjs";

const listed = (words) => words.join(", ").replace(/, (?=[^,]*$)/, " and ");
export const microbatches = (n) => count(n, "microbatch", "microbatches");

export const amount = (value) => grouped(`${number(value)}`);
export const timeText = (grains) => amount(grains / GRAINS);
export const heldText = ({ nvirtual }, stages) => amount(stages / nvirtual);

function bubble(run) {
  const idle = idleUntil(run, run.makespan);
  const [whole, useful] = [percentOf(idle, run.capacity), percentOf(idle, run.nranks * run.useful)];
  return `${whole} of all time is bubble, ${useful} of the useful time`;
}

export function fullest({ peaks, nranks, nvirtual }) {
  const most = Math.max(...peaks);
  const who = peaks.flatMap((peak, rank) => (peak === most ? [rank] : []));
  const every = who.length === nranks && nranks > 1;
  const name = every ? "every rank" : ranksText(who);
  const much = `${amount(most / nvirtual)} microbatch${most === nvirtual ? "" : "es"}`;
  return `${name} ${who.length > 1 && !every ? "hold" : "holds"} the activations of ${much} at most`;
}

const ranksText = (who) => `rank${who.length > 1 ? "s" : ""} ${listed(who)}`;

export function verdict([first, ...others]) {
  const size = `on ${count(first.nranks, "rank")} with ${microbatches(first.nmicrobatches)}`;
  const lasts = `a step lasts ${timeText(first.makespan)}, ${timeText(first.useful)} of it work`;
  const said = `${first.title} ${size}: ${lasts}. ${bubble(first)}; ${fullest(first)}.`;
  const more = others.map((run) => ` ${run.title} lasts ${timeText(run.makespan)}: ${bubble(run)}; ${fullest(run)}.`);
  return said + more.join("");
}

function deeds(run, at) {
  const kinds = run.lanes.map((_, rank) => now(run, rank, at)?.kind);
  const who = (kind) => kinds.flatMap((one, rank) => (one === kind ? [rank] : []));
  const parts = Object.entries(KINDS).flatMap(([kind, { deed }]) =>
    who(kind).length ? [`${deed} on ${ranksText(who(kind))}`] : [],
  );
  const idlers = who(undefined);
  if (idlers.length)
    parts.push(idlers.length === run.nranks && run.nranks > 1 ? "all wait" : `${ranksText(idlers)} idle`);
  return parts.join(", ");
}

export const underWay = ({ messages }, at) => messages.filter(({ sent, there }) => sent <= at && at <= there);

function moment(run, at) {
  if (at >= run.makespan) return "the step is over";
  const many = underWay(run, at).length;
  const held = run.lanes.map((_, rank) => heldText(run, holds(run, rank, at))).join(", ");
  const on = many ? `, ${count(many, "message")} under way` : "";
  return `${deeds(run, at)}${on}; held per rank: ${held}; idle so far ${soFar(run, at)}`;
}

export const soFar = (run, at) => percentOf(idleUntil(run, at), Math.max(1, run.nranks * at));

export function reading(runs, at, end) {
  const when = `At ${timeText(at)} of ${timeText(end)}`;
  if (runs.length === 1) return `${when}: ${moment(runs[0], at)}.`;
  return `${when}. ${runs.map((run) => `${run.title}: ${moment(run, at)}.`).join(" ")}`;
}
