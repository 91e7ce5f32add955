// What the widget says: of a whole step as widget.py does, of what happens at the cursor, of other numbers of microbatches; its figures.
import { h } from "../shared/page/dom.mjs";
import { count, grouped, number, percentOf } from "../shared/page/numbers.mjs";
import { GRAINS, holds, idleUntil } from "./timeline.mjs";

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

function fullest({ peaks, nranks, nvirtual }) {
  const most = Math.max(...peaks);
  const who = peaks.flatMap((peak, rank) => (peak === most ? [rank] : []));
  const every = who.length === nranks && nranks > 1;
  const name = every ? "every rank" : ranksText(who);
  const much = `${amount(most / nvirtual)} microbatch${most === nvirtual ? "" : "es"}`;
  return `${name} ${who.length > 1 && !every ? "hold" : "holds"} the activations of ${much} at most`;
}

// From when to when a stage of a rank is whole there, and when its gradients are reduced.
export function gatheredBy({ events }, rank) {
  const of = (what) => events[rank].filter(({ kind }) => kind === what);
  const freed = of("RESHARD");
  const whole = of("UNSHARD").map(({ stage, start }) => {
    const at = freed.findIndex((one) => one.stage === stage);
    return { stage, start, end: freed.splice(at, 1)[0].start };
  });
  return { whole, reduced: of("REDUCE_GRAD") };
}

export const wholeAt = (run, rank, at) =>
  gatheredBy(run, rank).whole.filter(({ start, end }) => start <= at && at < end).length;

// What FSDP adds to a step; nothing where the stages are not sharded.
function shards(run) {
  const all = run.lanes.map((_, rank) => gatheredBy(run, rank));
  if (!all[0].reduced.length) return "";
  const ends = (of) => [...new Set([Math.min(...of), Math.max(...of)])].join(" to ");
  const many = all.map(({ whole }) => whole.length);
  const often = `${run.nvirtual > 1 ? "stages" : "stage"} ${ends(many)} ${Math.max(...many) > 1 ? "times" : "time"}`;
  const most = all.flatMap(({ whole }, rank) => whole.map(({ start }) => wholeAt(run, rank, start)));
  const atOnce = run.nvirtual > 1 ? `, up to ${Math.max(...most)} of ${run.nvirtual} whole at once` : "";
  return `; FSDP gathers a rank's ${often}${atOnce}`;
}

const ranksText = (who) => `rank${who.length > 1 ? "s" : ""} ${listed(who)}`;

export function verdict([first, ...others]) {
  const size = `on ${count(first.nranks, "rank")} with ${microbatches(first.nmicrobatches)}`;
  const lasts = `a step lasts ${timeText(first.makespan)}, ${timeText(first.useful)} of it work`;
  const more = (run) => `${bubble(run)}; ${fullest(run)}${shards(run)}.`;
  const also = others.map((run) => ` ${run.title} lasts ${timeText(run.makespan)}: ${more(run)}`);
  return `${first.title} ${size}: ${lasts}. ${more(first)}${also.join("")}`;
}

// What a rank computes at a time, or undefined.
const now = ({ lanes }, rank, at) => lanes[rank].find(({ start, end }) => start <= at && at < end);

function deeds(run, at) {
  const kinds = run.lanes.map((_, rank) => now(run, rank, at)?.kind);
  const who = (kind) => kinds.flatMap((one, rank) => (one === kind ? [rank] : []));
  const parts = Object.entries(run.kinds).flatMap(([kind, { deed }]) =>
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
  const each = (of) => run.lanes.map((_, rank) => of(rank)).join(", ");
  const on = many ? `, ${count(many, "message")} under way` : "";
  const held = each((rank) => heldText(run, holds(run, rank, at)));
  const whole = run.events[0].length > run.lanes[0].length;
  const gathered = whole ? `; stages whole: ${each((rank) => wholeAt(run, rank, at))}` : "";
  return `${deeds(run, at)}${on}; held per rank: ${held}${gathered}; idle so far ${soFar(run, at)}`;
}

const soFar = (run, at) => percentOf(idleUntil(run, at), Math.max(1, run.nranks * at));

export function reading(runs, at, end) {
  const when = `At ${timeText(at)} of ${timeText(end)}`;
  if (runs.length === 1) return `${when}: ${moment(runs[0], at)}.`;
  return `${when}. ${runs.map((run) => `${run.title}: ${moment(run, at)}.`).join(" ")}`;
}

const closed = (run, words) =>
  run.wait === null ? "no closed form" : `closed form${run.times.hop ? " without hops" : ""} ${words()}`;

function figuresOf(run) {
  const idle = idleUntil(run, run.makespan);
  const { useful, wait, nranks, capacity, most } = run;
  const form = most === null ? "no closed form" : `closed form ${heldText(run, most)}`;
  return {
    all: [percentOf(idle, capacity), closed(run, () => percentOf(wait, useful + wait))],
    useful: [percentOf(idle, nranks * useful), closed(run, () => percentOf(wait, useful))],
    most: [heldText(run, Math.max(...run.peaks)), `microbatches, ${form}`],
  };
}

// The figures under the picture, the cells of a list; of two schedules each has its own line in a cell.
export function readout(runs, at, end) {
  const each = runs.map(figuresOf);
  const named = (i) => (runs[1] ? `${runs[i].title}, ` : "");
  const lines = (name) => each.map((own, i) => [own[name][0], named(i) + own[name][1]]);
  const cells = [
    ["Time", [[timeText(at), `of ${timeText(end)}`]]],
    ["Idle so far", runs.map((run, i) => [soFar(run, at), `${named(i)}of the ranks' time`])],
    ["Bubble, of all time", lines("all")],
    ["Bubble, of useful time", lines("useful")],
    ["Most held", lines("most")],
  ];
  const line = ([figure, note]) => h("dd", {}, h("strong", {}, figure), h("span", {}, note));
  return cells.map(([name, all]) => h("div", {}, h("dt", {}, name), all.map(line)));
}

export const shareOf = (run) => idleUntil(run, run.makespan) / run.capacity;
const overOf = (run) => idleUntil(run, run.makespan) / (run.nranks * run.useful);
export const place = (all, nmicrobatches) => all.findIndex((run) => run.nmicrobatches === nmicrobatches);

// The first of the alternatives from the one on show on whose share is at most half of its, or undefined.
export function halved(all, at, of = shareOf) {
  const half = of(all[at]) / 2 + 1e-12;
  return all.slice(at).find((run) => of(run) <= half);
}

// "With 8 microbatches ... half of that ..."
export function sharesText(all, nmicrobatches) {
  const here = place(all, nmicrobatches);
  const run = all[here];
  const idle = idleUntil(run, run.makespan);
  if (!idle) return "Nothing is idle: there is no bubble.";
  const said = (of) => halved(all, here, of)?.nmicrobatches;
  const [share, over] = [said(shareOf), said(overOf)];
  const told = (found) =>
    found ? `from ${found} microbatches on` : `with no number up to ${all.at(-1).nmicrobatches}`;
  const [a, b] = [percentOf(idle, run.capacity), percentOf(idle, run.nranks * run.useful)];
  const halves = `Half of ${a} of all time: ${told(share)}. Half of ${b} of the useful time: ${told(over)}.`;
  return `Bars: the bubble by the number of microbatches. ${halves}`;
}
