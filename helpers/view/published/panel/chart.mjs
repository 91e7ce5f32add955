// Every curve over the sizes: what was measured solid with a mark a size, repeats as bars, NCCL's model dashed, a plain line dotted.
import { canvas, hold, label, line, moved, svg } from "../../shared/page/dom.mjs";
import { lineAt } from "../data/line.mjs";
import { HIGH, scales } from "./scales.mjs";

const APART = 15; // pixels between letters at the right end
const R = 3.5;
// A curve's mark repeats what its colour says.
const MARKS = {
  A: (x, y) => svg("circle", { cx: x, cy: y, r: R }),
  B: (x, y) => svg("rect", { x: x - R, y: y - R, width: 2 * R, height: 2 * R }),
  C: (x, y) => svg("path", { d: `M${x} ${y - 4.5}l4.5 8h-9z` }),
  Y: (x, y) => svg("path", { d: `M${x} ${y - 5}l5 5l-5 5l-5 -5z` }),
};

export const colourOf = (letter) => `bim-pub-${letter.toLowerCase()}`;

const path = (kind, points) =>
  points.length > 1 &&
  svg("path", { class: kind, d: `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}` });

// Seconds at a size as what the axis shows.
const shown = (run, i, second, axis) => (axis === "time" ? second : (run.busbw[i] * run.seconds[i]) / second);

function whiskers(run, axis, { x, y }) {
  return run.sizes.map((size, i) => {
    if (run.most[i] <= run.least[i]) return null;
    const [low, high] = [run.least[i], run.most[i]].map((second) => y(shown(run, i, second, axis)));
    return line("bim-pub-spread", x(size), low, x(size), high);
  });
}

function beside({ run }, s, { x, y }) {
  const place = (second, i) => [x(run.sizes[i]), y(shown(run, i, second, s.axis))];
  const within = ([, b], high = HIGH) => b > -high && b < 2 * high;
  const model = s.model && run.model && run.model.map(({ seconds }, i) => place(seconds, i));
  const plain = s.line && run.line && run.sizes.map((size, i) => place(Math.max(lineAt(run.line, size), 1e-12), i));
  return [
    model && path("bim-pub-model", model),
    plain &&
      path(
        "bim-pub-line",
        plain.filter((one) => within(one)),
      ),
  ];
}

function measured({ letter, run }, s, scale) {
  const values = scale.of(run);
  const points = run.sizes.map((size, i) => [scale.x(size), scale.y(values[i])]);
  return svg(
    "g",
    { class: `bim-pub-curve ${colourOf(letter)}` },
    whiskers(run, s.axis, scale),
    path("bim-pub-measured", points),
    svg(
      "g",
      { class: "bim-pub-marks" },
      points.map(([a, b]) => MARKS[letter](a, b)),
    ),
  );
}

// Letters at the lines' ends, apart from each other.
function letters(curves, { x, y, of, top, bottom }) {
  const ends = curves.map(({ letter, run }) => ({ letter, run, px: x(run.sizes.at(-1)), py: y(of(run).at(-1)) }));
  ends.sort((one, other) => one.py - other.py);
  ends.forEach((one, i) => {
    if (i && one.py < ends[i - 1].py + APART) one.py = ends[i - 1].py + APART;
  });
  const over = Math.max(0, (ends.at(-1)?.py ?? 0) - bottom);
  return ends.map(({ letter, run, px, py }) =>
    svg(
      "g",
      { class: colourOf(letter) },
      label("bim-pub-letter", px + 9, Math.max(top, py - over) + 5, run.isNamedOtherwise ? `${letter}†` : letter),
    ),
  );
}

const axes = (scale, axis) => [
  label("bim-label", 0, 12, axis === "time" ? "time of a call" : "busbw, one way per GPU"),
  scale.ticks.map((value) => [
    line("bim-pub-grid", scale.left, scale.y(value), scale.right, scale.y(value)),
    label("bim-label bim-pub-tick", scale.left - 6, scale.y(value) + 4, scale.text(value)),
  ]),
  scale.along.map(([size, words]) => label("bim-label bim-middle", scale.x(size), HIGH - 8, words)),
];

// seek(log2 of the size under the pointer). -> { node, show(nbytes) }
export function chart(curves, s, width, seek) {
  const scale = scales(curves, s.axis, width);
  const cursor = svg("g", { class: "bim-cursor" }, line("", 0, scale.top - 8, 0, scale.bottom));
  const node = canvas(
    "bim-pub-chart",
    width,
    HIGH,
    `${s.axis === "time" ? "Time" : "Bus bandwidth"} over the size of the message; drag to read off another size`,
    axes(scale, s.axis),
    svg(
      "g",
      {},
      curves.map((one) => svg("g", { class: colourOf(one.letter) }, beside(one, s, scale))),
    ),
    cursor,
    curves.map((one) => measured(one, s, scale)),
    letters(curves, scale),
  );
  hold(node, (px) => seek(scale.grain(px)));
  return { node, show: (nbytes) => moved(cursor, scale.x(nbytes), 0) };
}
