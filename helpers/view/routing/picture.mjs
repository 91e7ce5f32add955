// A band for each rank that sends: its tokens, and what it puts into the slots of every expert. Experts stand under the rank that has
// them, so a block of a band is what one rank sends to another. Below, how many copies each expert computes.
import { badge, canvas, label, line, rankClass, rect, svg } from "../shared/page/dom.mjs";
import { nbytesText, times } from "../shared/page/numbers.mjs";
import { ROW, slotsOf } from "./routes.mjs";

const LETTERS = "abcdefghijklmnop";
const [HEAD, STRIP, BYTES, BARS] = [52, 28, 20, 62];
const MOST = 2; // the largest capacity factor: so much room a cell keeps

export function layout(s, width) {
  const here = s.experts / s.nranks;
  const gap = width < 500 ? 4 : 10;
  const block = (width - gap * (s.nranks - 1)) / s.nranks;
  const wide = block / here;
  const size = wide >= 74 ? 18 : wide >= 34 ? 15 : 12;
  const columns = Math.max(1, Math.floor((wide - 4) / size));
  const room = Math.max(s.tokens, slotsOf({ ...s, capacity: MOST }));
  const high = Math.ceil(room / columns) * size + 4;
  const band = STRIP + high + BYTES;
  const x = (expert) => Math.floor(expert / here) * (block + gap) + (expert % here) * wide;
  return { here, block, wide, size, columns, high, band, x, bars: HEAD + s.nranks * (band + 8) };
}

function token(rank, letter, x, y, size, kind = "") {
  const inner = size - 2;
  return svg(
    "g",
    { class: `${rankClass(rank, Infinity)} ${kind}` },
    rect("bim-token", x, y, inner, inner, 2),
    label("bim-letter", x + inner / 2, y + inner / 2 + 3.5, letter, size >= 15 ? 11 : 9),
  );
}

// A rank's tokens; those whose copies find no slot are framed in red, and crossed where no copy does.
function strip(r, rank, y, to) {
  const size = Math.max(to.size, 15);
  const tokens = r.slot[rank].map((places, i) => {
    const lost = places.filter((place) => place < 0).length;
    const x = 28 + i * size;
    const [a, b] = [size - 3, y + 3];
    return [
      token(rank, LETTERS[i], x, y + 2, size, lost === places.length ? "bim-gone" : ""),
      lost > 0 && rect("bim-lost", x - 0.5, y + 1.5, size - 1, size - 1, 2),
      lost === places.length && line("bim-lost", x + 1, b + a - 1, x + a, b),
    ];
  });
  return [badge(rank, Infinity, 11, y + 10, 20), tokens];
}

// What of a rank's lies with one expert.
function cell(r, rank, expert, y, to) {
  const { x, wide, size, columns, high } = to;
  const left = x(expert);
  const at = (i) => [left + 2 + (i % columns) * size, y + 2 + Math.floor(i / columns) * size];
  const empty = times(r.slots ?? 0, (i) => {
    const [a, b] = at(i);
    return i >= r.byExpert[rank][expert] && rect("bim-empty", a + 0.5, b + 0.5, size - 3, size - 3, 2);
  });
  const filled = r.chosen[rank].flatMap((experts, i) =>
    experts.map((one, choice) => {
      const place = r.slot[rank][i][choice];
      return one === expert && place >= 0 && token(rank, LETTERS[i], ...at(place), size);
    }),
  );
  return [rect("bim-cell", left, y, wide - 1, high, 2), empty, filled];
}

function bandOf(s, r, src, to) {
  const y = HEAD + src * (to.band + 8);
  const bytes = times(s.nranks, (dst) => {
    const middle = to.x(dst * to.here) + to.block / 2;
    const words = dst === src ? "stays" : nbytesText(ROW * r.rows(src, dst));
    return label("bim-label bim-middle", middle, y + STRIP + to.high + 13, words);
  });
  return [
    strip(r, src, y, to),
    times(s.experts, (expert) => cell(r, src, expert, y + STRIP, to)),
    times(
      s.nranks,
      (dst) => dst !== src && rect("bim-block", to.x(dst * to.here), y + STRIP, to.block - 1, to.high, 2),
    ),
    bytes,
  ];
}

function heads(s, to) {
  const names = times(s.experts, (expert) =>
    label("bim-label bim-middle", to.x(expert) + to.wide / 2, 42, to.wide > 24 ? `E${expert}` : `${expert}`),
  );
  const ranks = times(s.nranks, (dst) => badge(dst, Infinity, to.x(dst * to.here) + to.block / 2, 12, 20));
  return [ranks, names];
}

function bars(s, r, to) {
  const most = Math.max(...r.loads);
  const mean = r.loads.reduce((a, b) => a + b, 0) / s.experts;
  const y = (n) => to.bars + BARS - (n / most) * (BARS - 16);
  const middle = (expert) => to.x(expert) + to.wide / 2;
  return [
    r.loads.map((n, expert) => [
      rect("bim-load", to.x(expert) + 3, y(n), to.wide - 7, to.bars + BARS - y(n)),
      label("bim-label bim-middle", middle(expert), y(n) - 4, n),
    ]),
    line("bim-mean", 0, y(mean), to.x(s.experts - 1) + to.wide, y(mean)),
    label("bim-label", 0, to.bars + BARS + 16, "copies that each expert computes; dashed: the mean"),
  ];
}

export function picture(s, r, width) {
  const to = layout(s, width);
  const words =
    "A band for each rank: its tokens, and which of them lie in the slots of every expert; below, each expert's copies";
  return canvas(
    "bim-routes",
    width,
    to.bars + BARS + 22,
    words,
    heads(s, to),
    times(s.nranks, (src) => bandOf(s, r, src, to)),
    bars(s, r, to),
  );
}
