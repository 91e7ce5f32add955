// The ranks beside each other: a row per layer, a box per class, filled with what the rank holds of it; and all of its bytes below.
import { badge, canvas, label, line, moved, rect, svg } from "../shared/page/dom.mjs";
import { nbytesText, times } from "../shared/page/numbers.mjs";
import { CLASSES, momentsOf, peak, states } from "./steps.mjs";

export const LETTERS = ["P", "G", "O", "A"];
const [HEAD, ROW, BOX, NUMBER, FOOT] = [46, 26, 15, 18, 34];
const GAP = 24; // pixels between two ranks
const SLIM = 620; // pixels: in a narrower picture two ranks stand beside each other
const LENT = 1; // slots of a layer's bytes: whole parameters that others lent,
const REDUCED = 3; // and buffers of gradients

// Where everything stands, for a width.
export function sizes(width, nranks, nunits) {
  const columns = width < SLIM ? Math.min(2, nranks) : nranks;
  const panel = (width - GAP * (columns - 1)) / columns;
  const high = HEAD + ROW * nunits + FOOT;
  return { width, columns, panel, high, height: high * Math.ceil(nranks / columns), cell: (panel - NUMBER) / 4 };
}

const WORDS = { whole: "all", kept: "kept" }; // of a part its place in the box tells, which no word may cover

// One box: of a whole layer's bytes the rank's own part stands at its place.
function box(kind, state, { rank, nranks, wide, lent, buffer, part }) {
  const own = wide / nranks;
  const shard = state === "shard" || lent;
  const word = lent ? "all" : WORDS[state];
  return svg(
    "g",
    { class: `bim-h-${kind} bim-h-${state}` },
    rect("bim-h-frame", 0, 0, wide, BOX, 3),
    lent && rect("bim-h-lent", 0, 0, wide, BOX, 3),
    state !== "absent" && rect("bim-h-fill", shard ? rank * own : 0, 0, shard ? own : part * wide, BOX, shard ? 0 : 3),
    buffer > 0 && rect("bim-h-buffer", 0, BOX + 2, Math.min(1, buffer) * wide, 3),
    word && label("bim-h-word", wide / 2, BOX / 2, word, 11),
  );
}

// A layer's four boxes in the rank's own coordinates.
function layer({ known, way, held, how, most }, unit, { rank, nranks, cell }) {
  const whole = known.ways[way].whole[unit];
  const [, lent, , reduced, , kept] = held[unit];
  return LETTERS.map((_, i) =>
    moved(
      box(CLASSES[i], how[unit][i], {
        rank,
        nranks,
        wide: cell - 6,
        lent: i === 0 && lent > 0,
        buffer: i === 1 ? reduced / whole : 0,
        part: i === LENT + 2 ? kept / most : 1,
      }),
      NUMBER + i * cell,
      HEAD + unit * ROW + 4,
    ),
  );
}

// All bytes of a rank in one bar, in the order of the classes; a mark at the most of the step.
function bar({ held, total }, at, most, scale, panel) {
  const sum = (...slots) => held.reduce((all, one) => all + slots.reduce((n, slot) => n + one[slot], 0), 0);
  const parts = [sum(0), sum(2), sum(4), sum(5), sum(LENT, REDUCED)];
  const shown = [...parts, total - parts.reduce((a, b) => a + b, 0)];
  const x = (nbytes) => (nbytes / scale) * panel;
  const kinds = [...CLASSES, "communication", "temporary"];
  let from = 0;
  const drawn = shown.map((nbytes, i) => {
    const one = rect(`bim-h-fill bim-h-${kinds[i]}`, x(from), at, x(nbytes), 10);
    from += nbytes;
    return one;
  });
  return [rect("bim-h-frame", 0, at, panel, 10), drawn, line("bim-h-peak", x(most), at - 3, x(most), at + 13)];
}

function panel(told, rank, place, scale, onRank) {
  const { known, way, at } = told;
  const moment = momentsOf(known, way)[at];
  const here = moment.ranks[rank];
  const how = states(known, way, at, rank);
  const most = Math.max(1, ...momentsOf(known, way).flatMap(({ ranks }) => ranks[rank].held.map((one) => one[5])));
  const view = { known, way, held: here.held, how, most };
  const nranks = moment.ranks.length;
  const units = times(here.held.length, (unit) => unit);
  const band = rect("bim-h-band", 0, HEAD + moment.unit * ROW, place.panel, ROW - 1, 4);
  const [wide, high] = [place.panel, place.high - 8];
  return svg(
    "g",
    { class: `bim-h-rank ${rank === told.rank ? "bim-h-chosen" : ""}`, click: () => onRank(rank) },
    rect("bim-h-ground", -6, -2, wide + 12, high, 6),
    moment.unit >= 0 && band,
    badge(rank, nranks, 11, 13, 22),
    label("bim-label bim-h-total", wide, 17, nbytesText(here.total)),
    LETTERS.map((letter, i) => label("bim-label bim-middle", NUMBER + (i + 0.5) * place.cell - 3, 42, letter)),
    units.map((unit) => [
      label("bim-label", 2, HEAD + unit * ROW + 16, unit),
      layer(view, unit, { rank, nranks, cell: place.cell }),
    ]),
    bar(here, HEAD + units.length * ROW + 8, peak(known, way, rank), scale, wide),
  );
}

// All ranks of one way at a moment. scale: bytes that a bar may show at most.
export function ranksPicture(told, width, scale, onRank) {
  const { known, way, at } = told;
  const { ranks } = momentsOf(known, way)[at];
  const place = sizes(width - 16, ranks.length, ranks[0].held.length);
  const words = "What every rank holds of every layer; the table below says the same";
  const panels = ranks.map((_, rank) =>
    moved(
      panel(told, rank, place, scale, onRank),
      8 + (rank % place.columns) * (place.panel + GAP),
      4 + Math.floor(rank / place.columns) * place.high,
    ),
  );
  return canvas("bim-h-ranks", width, place.height, words, panels);
}
