// The timed events of a trace. See helpers/nccl/output/traces/kineto_events.py, which names what was read.

import { whole } from "../python/whole.mjs";
import { Refused } from "../refused.mjs";
import { aDict, aList, aPlace, aText, field, nanoseconds } from "./checks.mjs";

const MOST_EVENTS = 4 << 20;
const COPIES = ["gpu_memcpy", "gpu_memset"];
const OWN = "Trace"; // the profiler's own span
const LOADER = /^enumerate\(DataLoader\)#\w+\.__next__$/;
const STEP = /^ProfilerStep#(\d{1,9})$/;

export const isOnGpu = ({ category }) => category === "kernel" || COPIES.includes(category);

export const isLoader = ({ name }) => LOADER.test(name);

export const spanOf = ({ start, end }) => [start, end];

/** {events, began}: in order, times as BigInts since the first begins. Refused names what is wrong. */
export function eventsOf(data) {
  const rows = aList(data.get("traceEvents"), "traceEvents");
  if (rows.length > MOST_EVENTS) throw new Refused(`${rows.length} events, expected at most ${MOST_EVENTS}`);
  const events = rows.map(eventOf).filter(Boolean);
  if (!events.length) throw new Refused("no event in it has a duration: expected some of 'ph' 'X'");
  const began = events.reduce((first, { start }) => (start < first ? start : first), events[0].start);
  for (const event of events) {
    event.start -= began;
    event.end -= began;
  }
  return { events, began };
}

function eventOf(row, place) {
  const about = `event ${place}`;
  const event = aDict(row, about);
  if (aText(field(event, "ph"), `${about}: ph`) !== "X" || field(event, "cat") === OWN) return null;
  const start = nanoseconds(field(event, "ts"), `${about}: ts`);
  const category = aText(field(event, "cat", ""), `${about}: cat`);
  const name = aText(field(event, "name"), `${about}: name`);
  const pid = aPlace(field(event, "pid"), `${about}: pid`);
  const tid = aPlace(field(event, "tid"), `${about}: tid`);
  const end = start + nanoseconds(field(event, "dur"), `${about}: dur`);
  return {
    place,
    category,
    name,
    pid,
    tid,
    start,
    end,
    args: aDict(field(event, "args", new Map()), `${about}: args`),
  };
}

/** {step: its span, handed out} of the marks that a profiler's schedule sets; the longest of two with one number. */
export function stepsOf(events) {
  const found = new Map();
  for (const { name, category, start, end } of events) {
    const [, digits] = (category === "user_annotation" && STEP.exec(name)) || [];
    if (!digits) continue;
    const [from, behind] = found.get(Number(digits)) ?? [0n, 0n];
    found.set(Number(digits), end - start > behind - from ? [start, end] : [from, behind]);
  }
  return Object.fromEntries([...found].map(([step, span]) => [step, span.map(whole)]));
}
