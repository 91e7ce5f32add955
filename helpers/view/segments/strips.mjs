// The picture: every segment a strip, every block a cell; free cells are hollow, what is not there (any more) is a dotted frame.
import { canvas, h, label, rect } from "../shared/page/dom.mjs";
import { count, nbytesText } from "../shared/page/numbers.mjs";
import { layOut } from "./layout.mjs";
import { cells, stateAt } from "./replay.mjs";

const HEIGHT = 26;
const PITCH = 32;
const NAME = 7; // pixels that a letter of a block's name needs

// The parts of [from, to) that lie in a segment's pieces, as boxes.
function boxes(pieces, from, to, scale, width) {
  return pieces.flatMap(([line, x, a, b]) => {
    const [lo, hi] = [Math.max(a, from), Math.min(b, to)];
    return lo < hi ? [{ x: x + ((lo - a) / scale) * width, y: line * PITCH, w: ((hi - lo) / scale) * width }] : [];
  });
}

function cellNodes(cell, where, spec, classes, fresh) {
  const taken = cell.block >= 0;
  const kind = taken ? `bim-cell bim-class-${classes.get(cell.block)}` : "bim-hollow";
  const written = spec.written && taken ? spec.texts[spec.names.get(cell.block)] : "";
  return where.flatMap(({ x, y, w }, i) =>
    [
      rect(`${kind}${fresh ? " bim-fresh" : ""}`, x + 0.5, y + 1.5, Math.max(0.6, w - 1), HEIGHT - 3, w > 6 ? 3 : 0),
      taken &&
        cell.requested &&
        written &&
        i === 0 &&
        w > written.length * NAME + 6 &&
        label(`bim-cell-name bim-class-${classes.get(cell.block)}`, x + w / 2, y + HEIGHT / 2, written, 12),
    ].filter(Boolean),
  );
}

// One pool of one view. -> node or null
function poolPicture(view, pool, state, spec, classes, fresh, width) {
  const placed = layOut(view.segments, pool, width, view.scales[pool]);
  if (!placed.pieces.size) return null;
  const nodes = [...placed.pieces].flatMap(([number, pieces]) => {
    const own = state[number];
    const there = own.ranges.length > 0;
    const ghosts = pieces.map(([line, x, a, b]) =>
      rect("bim-ghost", x + 0.5, line * PITCH + 0.5, Math.max(1, ((b - a) / placed.scale) * width - 1), HEIGHT - 1, 4),
    );
    const frames = own.ranges
      .flatMap(([from, to]) => boxes(pieces, from, to, placed.scale, width))
      .map(({ x, y, w }) => rect("bim-segment", x, y, Math.max(1, w), HEIGHT, 4));
    const inner = cells(own).flatMap((cell) =>
      cellNodes(
        cell,
        boxes(pieces, cell.offset, cell.offset + cell.size, placed.scale, width),
        spec,
        classes,
        cell.block >= 0 && cell.block === fresh,
      ),
    );
    return [there ? [] : ghosts, frames, inner].flat();
  });
  const counted = [...placed.pieces.keys()].filter((number) => state[number].ranges.length).length;
  const share = view.expandable ? "" : `${counted} of ${count(placed.pieces.size, "segment")}, `;
  const title = `${pool === "small" ? "Small" : "Large"} pool: ${share}a line is ${nbytesText(placed.scale)}`;
  return h(
    "div",
    {},
    h("p", { class: "bim-pool" }, title),
    canvas("bim-strips", width, placed.lines * PITCH, title, nodes),
  );
}

// One scale per pool for all that stand beside each other.
export function scales(views, width) {
  const most = (pool) => Math.max(...views.map(({ segments }) => layOut(segments, pool, width).scale));
  return { small: most("small"), large: most("large") };
}

export function strips(view, spec, step, classes, width) {
  const state = stateAt(view, step);
  const last = step ? spec.events[step - 1] : null;
  const fresh = last && last[0] === "+" ? last[1] : -1;
  const pools = ["large", "small"]
    .map((pool) => poolPicture(view, pool, state, spec, classes, fresh, width))
    .filter(Boolean);
  return pools.length ? pools : [h("p", { class: "bim-pool" }, "Nothing was ever allocated.")];
}
