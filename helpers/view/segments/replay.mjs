// The actions of one replay applied one after the other: which pages are there, which blocks, and both curves. Nothing is decided here.
const UNIT = 512; // offsets and sizes travel in these

// An event with all its fields: [kind, block, bytes, class, text]; a free and a change of class take theirs from the alloc.
function spelled(events) {
  const made = new Map();
  return events.map((event) => {
    const [kind, block] = event;
    if (kind === "+") made.set(block, event);
    if (kind === "m") return ["m", -1, 0, 0, event[1]];
    const [, , nbytes, cls, text] = made.get(block);
    return [kind, block, nbytes, kind === "c" ? event[2] : cls, text];
  });
}

// The data of a mount, ready to be drawn: events in full, each block's text, both views unfolded.
export function opened(given) {
  const events = spelled(given.events);
  const names = new Map(events.filter(([kind]) => kind === "+").map(([, block, , , text]) => [block, text]));
  return { ...given, events, names, views: given.views.map((view) => unfold(view, events)) };
}

// A view -> also byEvent: what happened at each event; curve: [allocated, reserved] after it; ended: the step that found no memory
function unfold(view, events) {
  const byEvent = events.map(() => []);
  const places = new Map(); // block -> its alloc
  for (const [at, code, ...numbers] of view.actions) {
    const [, block, requested] = events[at];
    if (code === "!") byEvent[at].push({ code, segment: -1, offset: 0, size: numbers[0] * UNIT, requested, block: -1 });
    else if (code === "-") byEvent[at].push({ ...places.get(block), code });
    else {
      const [segment, offset, size] = numbers;
      const action = {
        code,
        segment,
        offset: offset * UNIT,
        size: size * UNIT,
        ...(code === "+" ? { requested, block } : { requested: 0, block: -1 }),
      };
      if (code === "+") places.set(block, action);
      byEvent[at].push(action);
    }
  }
  let [allocated, reserved] = [0, 0];
  const curve = byEvent.map((actions) => {
    for (const one of actions) {
      allocated += { "+": one.size, "-": -one.size }[one.code] ?? 0;
      reserved += { S: one.size, M: one.size, F: -one.size, U: -one.size }[one.code] ?? 0;
    }
    return [allocated, reserved];
  });
  const last = view.actions.at(-1);
  const segments = view.segments.map(([pool, size]) => [pool, size * UNIT]);
  return { ...view, segments, byEvent, curve: [[0, 0], ...curve], ended: last?.[1] === "!" ? last[0] + 1 : null };
}

const cut = (ranges, from, to) =>
  ranges.flatMap(([a, b]) =>
    [
      [a, Math.min(b, from)],
      [Math.max(a, to), b],
    ].filter(([x, y]) => x < y),
  );

function joined(ranges) {
  const sorted = ranges.toSorted((a, b) => a[0] - b[0]);
  return sorted.reduce((all, [a, b]) => {
    const last = all.at(-1);
    if (last && last[1] === a) last[1] = b;
    else all.push([a, b]);
    return all;
  }, []);
}

function apply(state, { code, segment, offset, size, requested, block }) {
  if (code === "!") return;
  const own = state[segment];
  if (code === "+") own.blocks.set(offset, { offset, size, requested, block });
  else if (code === "-") own.blocks.delete(offset);
  else if (code === "S" || code === "M") own.ranges = joined([...own.ranges, [offset, offset + size]]);
  else own.ranges = cut(own.ranges, offset, offset + size);
}

// After `step` events: of each segment its ranges [[from, to]] and blocks by offset.
export function stateAt(view, step) {
  const state = view.segments.map(() => ({ ranges: [], blocks: new Map() }));
  view.byEvent
    .slice(0, step)
    .flat()
    .forEach((action) => apply(state, action));
  return state;
}

// A segment's cells in order: taken ones have a block, free ones block -1.
export function cells({ ranges, blocks }) {
  const sorted = [...blocks.values()].sort((a, b) => a.offset - b.offset);
  return ranges.flatMap(([from, to]) => {
    const found = [];
    let at = from;
    for (const one of sorted) {
      if (one.offset < from || one.offset >= to) continue;
      if (one.offset > at) found.push({ offset: at, size: one.offset - at, requested: 0, block: -1 });
      found.push(one);
      at = one.offset + one.size;
    }
    if (at < to) found.push({ offset: at, size: to - at, requested: 0, block: -1 });
    return found;
  });
}

// The free cell that holds an offset, or null.
export const freeAt = (own, offset) =>
  cells(own).find((cell) => cell.block < 0 && cell.offset <= offset && offset < cell.offset + cell.size) ?? null;

// What every block is after `step` events: block -> number of its class.
export function classesAt(events, step) {
  const found = new Map();
  for (const [kind, block, , cls] of events.slice(0, step)) if (kind === "+" || kind === "c") found.set(block, cls);
  return found;
}
