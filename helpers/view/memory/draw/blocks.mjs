// Blocks one by one: a class's area is its blocks, the oldest at its bottom.
import { CLASSES } from "../trace/store.mjs";

const SEEN = 0.4; // px: a thinner block is left to its class's colour
const EDGE = 2.5; // px: from here on a gap parts a block from the next
const TINTS = [
  ["ink", 0.24],
  ["panel", 0],
  ["panel", 0.3],
  ["ink", 0.1],
  ["panel", 0.15],
];

// The bottom of every class after event i.
function bottoms(t, i) {
  let sum = 0;
  return CLASSES.map((_, cls) => {
    const bottom = sum;
    sum += t.bytes[i * CLASSES.length + cls];
    return bottom;
  });
}

function hold(t, held, i) {
  const slot = t.slot[i];
  if (slot >= 0) held[slot] = t.kind[i] === 1 ? -1 : t.cls[i];
  return slot;
}

// see(x, slot, cls, bottom, top) for every block of every column; chosen: an event for each column, never an earlier one than before.
export function walk(t, chosen, see) {
  const held = new Int8Array(t.ids.length).fill(-1);
  let [done, last] = [-1, -1];
  chosen.forEach((i, x) => {
    if (i < 0) return;
    while (done < i) {
      done += 1;
      last = Math.max(last, hold(t, held, done));
    }
    const at = bottoms(t, i);
    for (let slot = 0; slot <= last; slot++) {
      const cls = held[slot];
      if (cls < 0) continue;
      see(x, slot, cls, at[cls], at[cls] + t.nbytes[slot]);
      at[cls] += t.nbytes[slot];
    }
  });
}

// The block that lies at a height of so many bytes after event i, -1 above the curve.
export function blockAt(t, i, nbytes) {
  let found = -1;
  walk(t, [i], (_, slot, __, bottom, top) => {
    if (nbytes >= bottom && nbytes < top) found = slot;
  });
  return found;
}

// Runs of columns in which a block stays where it is: [slot, cls, from, to, bottom, top].
function runsOf(t, chosen, isWanted) {
  const [runs, open] = [[], new Map()];
  walk(t, chosen, (x, slot, cls, bottom, top) => {
    if (!isWanted(slot, top - bottom)) return;
    const run = open.get(slot);
    if (run && run[3] === x && run[4] === bottom && run[1] === cls) {
      run[3] = x + 1;
      return;
    }
    const next = [slot, cls, x, x + 1, bottom, top];
    open.set(slot, next);
    runs.push(next);
  });
  return runs;
}

// Equal lines have equal colours.
function hashed(text) {
  let sum = 7;
  for (let i = 0; i < text.length; i++) sum = (sum * 31 + text.charCodeAt(i)) >>> 0;
  return sum;
}

const colourOf = (view, colours, slot, cls) =>
  view.unclassed ? colours.ranks[hashed(view.t.op[view.t.made[slot]]) % 8] : colours.classes[cls];

function place(box, chosen, y, [, , from, to, bottom, top], least) {
  const width = box.w / chosen.length;
  const high = y(bottom) - y(top);
  return [box.x + from * width, y(top), (to - from) * width, Math.max(high > EDGE ? high - 0.75 : high, least)];
}

// Each block in a tint of its class's colour; without classes, in the colour of the line that made it.
export function paintBlocks(ctx, box, view, colours, chosen, y) {
  const least = (SEEN * view.top) / box.h;
  for (const run of runsOf(view.t, chosen, (_, nbytes) => nbytes >= least)) {
    const [slot, cls] = run;
    const at = place(box, chosen, y, run, 0);
    const [tint, alpha] = TINTS[slot % TINTS.length];
    ctx.fillStyle = colourOf(view, colours, slot, cls);
    ctx.fillRect(...at);
    ctx.globalAlpha = alpha;
    ctx.fillStyle = colours[tint];
    ctx.fillRect(...at);
    ctx.globalAlpha = 1;
  }
}

// The lit blocks alone in full colour, all else behind a veil.
export function paintLit(ctx, box, view, colours, chosen, y) {
  ctx.globalAlpha = 0.66;
  ctx.fillStyle = colours.panel;
  ctx.fillRect(box.x, box.y, box.w, box.h);
  ctx.globalAlpha = 1;
  for (const run of runsOf(view.t, chosen, (slot) => view.lit.slots.has(slot))) {
    ctx.fillStyle = view.unclassed && view.colour === "class" ? colours.ink : colourOf(view, colours, run[0], run[1]);
    ctx.fillRect(...place(box, chosen, y, run, 1.5));
  }
}
