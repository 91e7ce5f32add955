// What an event did, in words, from the actions and the state before them.
import { count, nbytesText } from "../shared/page/numbers.mjs";
import { cells, freeAt, stateAt } from "./replay.mjs";

const total = (actions) => actions.reduce((sum, { size }) => sum + size, 0);

// What the reader has to know of the sizes of free blocks.
export const largest = (free) => (free.length > 1 ? `, the largest ${nbytesText(Math.max(...free))}` : "");

const many = (n, one) => (n === 1 ? `one ${one}` : `${n} ${one}s`);

// "6 MiB are", "1 MiB is"; plural: of a verb.
function bytes(nbytes, plural = "are", singular = plural === "are" ? "is" : `${plural}s`) {
  const text = nbytesText(nbytes);
  return `${text} ${text.startsWith("1 ") ? singular : plural}`;
}

// cudaFree and unmapped pages, after a verb or as a whole sentence.
function given(actions) {
  const back = actions.filter(({ code }) => code === "F" || code === "U");
  if (!back.length) return "";
  const how = back[0].code === "F" ? `cudaFree gives back ${many(back.length, "segment")}` : "empty pages are unmapped";
  return `${how}, ${nbytesText(total(back))}`;
}

function taking(view, actions, before) {
  const made = actions.filter(({ code }) => code === "S" || code === "M");
  const back = given(actions);
  const first = back && `the device has no room, so ${back}; then `;
  if (made.length && made[0].code === "S") return `no free block fits: ${first}cudaMalloc ${nbytesText(total(made))}`;
  if (made.length) return `no free block fits: ${first}pages of ${nbytesText(total(made))} are mapped`;
  const { segment, offset } = actions.find(({ code }) => code === "+");
  return `best fit is a free block of ${nbytesText(freeAt(before[segment], offset).size)}`;
}

function rest(view, action, after) {
  const own = after[action.segment];
  const left = freeAt(own, action.offset + action.size);
  const over = action.size - action.requested;
  const rounded =
    over >= 512
      ? `; the rest is too small to cut, so ${bytes(over)} inside the block, unused`
      : over
        ? `; ${bytes(over)} rounding`
        : "";
  return `${left ? `, ${bytes(left.size, "stay")} free behind it` : ", none of it is left"}${rounded}`;
}

function freeing(action, before, after) {
  const { size } = freeAt(after[action.segment], action.offset);
  if (size === action.size) return `${bytes(size)} free, with no free block beside`;
  return `${bytes(action.size)} free, in one piece with what was free beside: ${nbytesText(size)}`;
}

// The error, told in pieces: what was asked for, what the device had, and what is free but of no use.
function starved(view, actions, limit) {
  const [[allocated, reserved], wanted] = [view.curve[view.ended], actions.at(-1).size];
  const free = stateAt(view, view.ended).flatMap((own) =>
    cells(own)
      .filter(({ block }) => block < 0)
      .map(({ size }) => size),
  );
  const pieces = free.length ? `, in ${many(free.length, "piece")}${largest(free)}` : "";
  const asked = `out of memory: ${bytes(wanted)} asked for, the device has ${nbytesText(limit - reserved)}`;
  return `${asked}; ${bytes(reserved - allocated)} reserved but unallocated${pieces}`;
}

// One view's words for the event before `step`.
function did(view, event, step, limit) {
  const actions = view.byEvent[step - 1];
  const [before, after] = [stateAt(view, step - 1), stateAt(view, step)];
  if (view.ended && step > view.ended) return "it ran out of memory before";
  if (view.ended === step) return starved(view, actions, limit);
  const [kind] = event;
  if (kind === "+") {
    const made = actions.find(({ code }) => code === "+");
    return made ? taking(view, actions, before) + rest(view, made, after) : "no bytes, no block";
  }
  if (kind === "-") {
    const freed = actions.find(({ code }) => code === "-");
    return freed ? freeing(freed, before, after) : "it had no block";
  }
  return given(actions) || (event[0] === "m" ? "nothing can be given back" : "");
}

const NOTHING = { m: "a mark", c: "a class" };

export const lead = (spec, step) => {
  if (!step) return "Start";
  const [kind, , nbytes, cls, text] = spec.events[step - 1];
  const name = spec.texts[text];
  if (kind === "+") return spec.written ? `${name} = ${nbytesText(nbytes)}` : `${name}: ${nbytesText(nbytes)}`;
  if (kind === "-") return spec.written ? `del ${name}` : `${name}, ${nbytesText(nbytes)}, is freed`;
  if (kind === "c") return `${name} is ${spec.classes[cls]} now`;
  return name === "empty_cache" ? "empty_cache()" : (name ?? NOTHING[kind]);
};

// -> { lead, texts: one per view on show }
export function telling(spec, views, step) {
  if (!step) {
    const limit = spec.limit ? `, on a device with ${nbytesText(spec.limit)}` : "";
    const follow = `${count(spec.events.length, "event")} ${spec.events.length === 1 ? "follows" : "follow"}`;
    return { lead: "Start", texts: [`Nothing is reserved. ${follow}${limit}.`] };
  }
  const event = spec.events[step - 1];
  if (event[0] === "c")
    return { lead: lead(spec, step), texts: ["No byte moves; only what the block is for has changed."] };
  if (event[0] === "m" && spec.texts[event[4]] !== "empty_cache")
    return { lead: lead(spec, step), texts: ["A mark: the allocator does nothing."] };
  return {
    lead: lead(spec, step),
    texts: views.map((view) => {
      const words = did(view, event, step, spec.limit);
      if (views.length > 1) return `${view.expandable ? "Expandable" : "Fixed"}: ${words}.`;
      return `${words.startsWith("cuda") ? "" : words[0].toUpperCase()}${words.slice(words.startsWith("cuda") ? 0 : 1)}.`;
    }),
  };
}
