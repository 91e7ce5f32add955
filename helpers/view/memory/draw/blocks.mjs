// Blocks one by one: a band's area is its blocks, the oldest at its bottom.
import { filled } from "./colours.mjs";

const SEEN = 0.4; // px: a thinner block is left to its band's colour
const EDGE = 2.5; // px: from here on a gap parts a block from the next
const TINTS = [
  ["ink", 0.24],
  ["panel", 0],
  ["panel", 0.3],
  ["ink", 0.1],
  ["panel", 0.15],
];

// The bottom of every band, from what it holds.
function bottoms(bytes) {
  let sum = 0;
  return bytes.map((nbytes) => (sum += nbytes) - nbytes);
}

function hold(t, bands, held, i) {
  const slot = t.slot[i];
  if (slot >= 0) held[slot] = t.kind[i] === 1 ? -1 : bands.of(t, slot, t.cls[i]);
  return slot;
}

// see(x, slot, band, bottom, top) for every block of every column; chosen: an event for each column, never an earlier one than before.
export function walk(t, bands, chosen, see) {
  const bytes = bands.at(t, chosen);
  const held = new Int8Array(t.ids.length).fill(-1);
  let [done, last] = [-1, -1];
  chosen.forEach((i, x) => {
    if (i < 0) return;
    while (done < i) {
      done += 1;
      last = Math.max(last, hold(t, bands, held, done));
    }
    const at = bottoms(bytes[x]);
    for (let slot = 0; slot <= last; slot++) {
      const band = held[slot];
      if (band < 0) continue;
      see(x, slot, band, at[band], at[band] + t.nbytes[slot]);
      at[band] += t.nbytes[slot];
    }
  });
}

// The block that lies at a height of so many bytes after event i, -1 above the curve.
export function blockAt({ t, bands }, i, nbytes) {
  let found = -1;
  walk(t, bands, [i], (_, slot, __, bottom, top) => {
    if (nbytes >= bottom && nbytes < top) found = slot;
  });
  return found;
}

// Runs of columns in which a block stays where it is: [slot, band, from, to, bottom, top].
function runsOf({ t, bands }, chosen, isWanted) {
  const [runs, open] = [[], new Map()];
  walk(t, bands, chosen, (x, slot, band, bottom, top) => {
    if (!isWanted(slot, top - bottom)) return;
    const run = open.get(slot);
    if (run && run[3] === x && run[4] === bottom && run[1] === band) {
      run[3] = x + 1;
      return;
    }
    const next = [slot, band, x, x + 1, bottom, top];
    open.set(slot, next);
    runs.push(next);
  });
  return runs;
}

function place(box, chosen, y, [, , from, to, bottom, top], least) {
  const width = box.w / chosen.length;
  const high = y(bottom) - y(top);
  return [box.x + from * width, y(top), (to - from) * width, Math.max(high > EDGE ? high - 0.75 : high, least)];
}

// Each block in a tint of its band's colour.
export function paintBlocks(ctx, box, view, colours, chosen, y) {
  const least = (SEEN * view.top) / box.h;
  for (const run of runsOf(view, chosen, (_, nbytes) => nbytes >= least)) {
    const [slot, band] = run;
    const at = place(box, chosen, y, run, 0);
    const [tint, alpha] = TINTS[slot % TINTS.length];
    filled(ctx, colours, view.bands.ink(band), () => ctx.fillRect(...at));
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
  for (const run of runsOf(view, chosen, (slot) => view.lit.slots.has(slot)))
    filled(ctx, colours, view.bands.ink(run[1]), () => ctx.fillRect(...place(box, chosen, y, run, 1.5)));
}
