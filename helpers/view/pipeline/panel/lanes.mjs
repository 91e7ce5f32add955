// One schedule's lanes: for every rank its computations as blocks, and under them, as steps, whose activations it holds.
import { svg } from "../../shared/page/dom.mjs";
import { times } from "../../shared/page/numbers.mjs";
import { label, line, rect } from "../../shared/page/shapes.mjs";
import { KINDS } from "../programs.mjs";
import { heldText } from "../words.mjs";

const LETTER = 6.4; // pixels of a figure in a block

// What a block says, as far as it fits: letter and microbatch, or the microbatch alone.
const worded = ({ kind, k }, room) => [`${kind}${k}`, `${k}`].find((words) => words.length * LETTER + 3 <= room);

function block(one, to, y, { high }, nranks) {
  const [a, b] = [to.x(one.start), to.x(one.end)];
  const gap = b - a > 5 ? 1 : 0;
  const words = worded(one, b - a);
  const chunk = Math.floor(one.stage / nranks);
  const box = rect(`bim-block ${KINDS[one.kind].wears} bim-shade-${chunk}`, a, y, b - a - gap, high, gap ? 2 : 0);
  const said =
    words &&
    label(`bim-in bim-middle ${KINDS[one.kind].wears} bim-shade-${chunk}`, (a + b - gap) / 2, y + high / 2 + 4, words);
  return { box, said };
}

// The outline of something held over time: [[from when on, how much]], up to the whole time.
function outline(steps, to, base, unit) {
  const path = steps.map(([at, much]) => `H${to.x(at).toFixed(1)}V${(base - much * unit).toFixed(1)}`);
  return `M${to.x(0).toFixed(1)} ${base}${path.join("")}H${to.x(to.end).toFixed(1)}V${base}z`;
}

// Held for their backward, above it held for their weights alone, and the moment of the most.
function holding(run, rank, to, base, { strip }, most) {
  const unit = (strip - 2) / most / run.nvirtual;
  const lane = run.held[rank];
  const [all, whole] = [({ whole: a, weights: b }) => a + b, ({ whole: a }) => a].map((of) =>
    lane.map((one) => [one.end, of(one)]),
  );
  const first = lane.find((one) => one.whole + one.weights === run.peaks[rank]);
  const top = base - run.peaks[rank] * unit;
  const mark = svg("path", { class: "bim-peak", d: `M${to.x(first.end).toFixed(1)} ${top.toFixed(1)}l-4 -6h8z` });
  return [
    svg("path", { class: "bim-late-held", d: outline(all, to, base, unit) }),
    svg("path", { class: "bim-held", d: outline(whole, to, base, unit) }),
    line("bim-base", to.x(0), base, to.x(to.end), base),
    mark,
  ];
}

function lane(run, rank, to, top, form) {
  const blocks = run.lanes[rank].map((one) => ({ one, ...block(one, to, top, form, run.nranks) }));
  const base = top + form.high + 3 + form.strip;
  const texts = {
    now: label("bim-tag bim-end", to.left - 8, top + form.high / 2 + 4, ""),
    idle: label("bim-label bim-end", to.width, top + form.high / 2 + 4, ""),
    held: label("bim-label bim-end", to.left - 8, base - 1, ""),
  };
  const node = [
    rect("bim-lane", to.x(0), top, to.x(run.makespan) - to.x(0), form.high),
    holding(run, rank, to, base, form, to.most),
    blocks.map(({ box }) => box),
    blocks.map(({ said }) => said),
    label("bim-label bim-rank-name", 0, top + form.high / 2 + 4, form.wide ? `rank ${rank}` : `${rank}`),
    label("bim-label bim-end", to.width, base - 1, `${form.wide ? "peak " : "▾"}${heldText(run, run.peaks[rank])}`),
    Object.values(texts),
  ];
  return { node, blocks, texts, middle: top + form.high / 2 };
}

// -> one of { node, blocks: [{ one, box }], texts, middle } for each rank
export const lanesOf = (run, to, top, form) =>
  times(run.nranks, (rank) => lane(run, rank, to, top + rank * form.lane, form));
