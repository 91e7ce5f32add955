// Allocated and reserved over the events, with the device's limit and a cursor that can be dragged.
import { canvas, label, line, svg } from "../shared/page/dom.mjs";
import { count, nbytesText } from "../shared/page/numbers.mjs";

const TALL = 132;
const PLOT = { top: 8, bottom: 20, left: 56, right: 8 };

const stepped = (points) =>
  points.map(([x, y], i) => (i ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`)).join("");

// What a curve's axis is labelled with: nothing, the half and the top of a round number of bytes.
function top(most) {
  const unit = 2 ** Math.max(10, Math.floor(Math.log2(Math.max(most, 1024))) - 2);
  return Math.ceil(most / unit) * unit;
}

// view: unfolded; most: the common top. -> { node, show(step) }
export function curves(view, spec, most, width, seek) {
  const nevents = spec.events.length;
  const upper = top(Math.max(most, spec.limit ?? 0));
  const [w, hgt] = [width - PLOT.left - PLOT.right, TALL - PLOT.top - PLOT.bottom];
  const x = (step) => PLOT.left + (w * step) / Math.max(1, nevents);
  const y = (nbytes) => PLOT.top + hgt * (1 - nbytes / upper);
  const shown = view.curve.slice(0, (view.ended ?? nevents) + 1);
  const path = (i) => stepped(shown.map((pair, step) => [x(step), y(pair[i])]));
  const area = `${path(0)}V${y(0)}H${x(0)}Z`;
  const ticks = [0, upper / 2, upper].flatMap((n) => [
    line("bim-grid", PLOT.left, y(n), width - PLOT.right, y(n)),
    label("bim-label bim-end", PLOT.left - 6, y(n) + 4, nbytesText(n), 12),
  ]);
  const limit = spec.limit ? [line("bim-limit", PLOT.left, y(spec.limit), width - PLOT.right, y(spec.limit))] : [];
  const oom = view.ended
    ? [svg("path", { class: "bim-oom", d: `M${x(view.ended) - 5} ${y(shown.at(-1)[1]) - 5}l10 10m0-10l-10 10` })]
    : [];
  const cursor = line("bim-at", 0, PLOT.top - 4, 0, TALL - PLOT.bottom + 4);
  const [allocated, reserved] = view.peaks.map(nbytesText);
  const said = `Allocated and reserved over ${count(nevents, "event")}: peaks ${allocated} and ${reserved}`;
  const node = canvas(
    "bim-curves",
    width,
    TALL,
    said,
    ticks,
    limit,
    svg("path", { class: "bim-allocated", d: area }),
    svg("path", { class: "bim-reserved", d: path(1) }),
    oom,
    cursor,
    label("bim-label bim-middle", PLOT.left + w / 2, TALL - 4, "events", 12),
  );
  const at = (event) =>
    seek(
      Math.round(
        Math.min(1, Math.max(0, (event.clientX - node.getBoundingClientRect().left - PLOT.left) / w)) * nevents,
      ),
    );
  node.addEventListener("pointerdown", (event) => {
    node.setPointerCapture(event.pointerId);
    at(event);
  });
  node.addEventListener("pointermove", (event) => {
    if (node.hasPointerCapture(event.pointerId)) at(event);
  });
  const show = (step) => {
    cursor.setAttribute("x1", x(step));
    cursor.setAttribute("x2", x(step));
  };
  return { node, show };
}
