// Over one axis of sizes: who wins, by version, and every candidate's time; and for one size, of what each estimate is made.
import { canvas, hold, label, line, moved, rect, svg } from "../shared/page/dom.mjs";
import { nbytesText, secondsText } from "../shared/page/numbers.mjs";
import { GRAINS, way } from "./asked.mjs";

const [FIRST, LAST] = GRAINS;
const STRIP = 22;
const PLOT = 236;
const TOP = 2 * STRIP + 26;
const LETTER = 12;
const shapeOf = (width) => (width >= 560 ? { left: 64, step: 4 } : { left: 50, step: 8 });
const rightOf = (all) => 10 + 6.6 * Math.max(...[...all.keys()].map((name) => name.length)); // the names at the lines' ends

function scales(width, { all, won }, seen) {
  const [{ left, step }, right] = [shapeOf(width), rightOf(all)];
  const shown = [...[...all.values()].flat().map(([, raw]) => raw), ...won.map((one) => one[3] ?? one[2])];
  const seconds = [...shown, ...seen.map(([, time]) => time)].map(Math.log10);
  const [low, high] = [Math.floor(Math.min(...seconds)), Math.max(...seconds)];
  const room = width - left - right;
  return {
    left,
    step,
    low,
    high,
    end: width - right,
    x: (nbytes) => left + ((Math.log2(nbytes) - FIRST) / (LAST - FIRST)) * room,
    y: (time) => TOP + PLOT - ((Math.log10(time) - low) / (high - low)) * PLOT,
    size: (px) => Math.round(FIRST + Math.min(1, Math.max(0, (px - left) / room)) * (LAST - FIRST)),
  };
}

// As much of a way's name as fits.
const named = (name, room) => [name, name.split("/")[1]].find((words) => room > 6.6 * words.length);

// A strip of winners: each as wide as the sizes it wins, a way of the same tone in every strip.
function strip({ version, found }, row, to, tones) {
  const y = row * (STRIP + 4);
  const edge = (grain) => Math.min(to.end, Math.max(to.left, to.x(2 ** grain)));
  const parts = found.map(({ name, from, to: last }) => {
    const [a, b] = [edge(from - 0.5), edge(last + 0.5)];
    const words = named(name, b - a);
    return [
      rect(`bim-won bim-tone-${tones.indexOf(name) % 3}`, a, y, b - a - 1, STRIP),
      words && label("bim-label bim-middle", (a + b) / 2, y + 15, words),
    ];
  });
  return [label("bim-label bim-end", to.left - 6, y + 15, version), parts];
}

const path = (points, to) =>
  points.map(([nbytes, time], i) => `${i ? "L" : "M"}${to.x(nbytes).toFixed(1)} ${to.y(time).toFixed(1)}`).join("");

// The winner's line, cut where another wins; `which` is the column of its time.
function wins(won, which, to, kind) {
  const parts = [];
  for (const one of won) {
    const before = parts.at(-1);
    if (one[which] === null) parts.push({ name: null, points: [] });
    else if (before?.name === one[1]) before.points.push([one[0], one[which]]);
    else parts.push({ name: one[1], points: [[one[0], one[which]]] });
  }
  return parts
    .filter(({ points }) => points.length)
    .map(({ points }) => svg("path", { class: kind, d: path([...points, points.at(-1)], to) })); // a single one is a dot
}

// The names at the lines' ends, moved apart where they would touch.
function names(all, to) {
  const ends = [...all].map(([name, points]) => ({ name, y: to.y(points.at(-1)[1]) })).toSorted((a, b) => a.y - b.y);
  let last = -Infinity;
  for (const one of ends) last = one.at = Math.max(one.y, last + LETTER);
  const over = Math.max(0, last - (TOP + PLOT + LETTER / 2));
  return ends.map(({ name, at }) => label("bim-label", to.end + 6, at - over + 4, name));
}

function axes(to) {
  const down = [];
  for (let grain = FIRST; grain <= LAST; grain += to.step)
    down.push(
      line("bim-axis", to.x(2 ** grain), TOP + PLOT, to.x(2 ** grain), TOP + PLOT + 4),
      label("bim-label bim-middle", to.x(2 ** grain), TOP + PLOT + 17, nbytesText(2 ** grain)),
    );
  for (let ten = to.low; ten <= to.high; ten++)
    down.push(
      line("bim-grid", to.left, to.y(10 ** ten), to.end, to.y(10 ** ten)),
      label("bim-label bim-end", to.left - 6, to.y(10 ** ten) + 4, secondsText(10 ** ten)),
    );
  return down;
}

// strips: [{ version, found }]; onHold(power of two) while a pointer has the cursor. -> { node, show(nbytes) }
export function linesPicture({ strips, drawn, seen }, width, onHold) {
  const to = scales(width, drawn, seen);
  const tones = [...new Set(strips.flatMap(({ found }) => found.map(({ name }) => name)))];
  const cursor = svg("g", { class: "bim-cursor" }, line("", 0, TOP - 18, 0, TOP + PLOT + 2));
  const node = canvas(
    "bim-lines",
    width,
    TOP + PLOT + 24,
    "Who wins at which size, for both versions, and the time of every candidate over the size; drag to choose a size",
    strips.map((one, row) => strip(one, row, to, tones)),
    axes(to),
    [...drawn.all.values()].map((points) => svg("path", { class: "bim-candidate", d: path(points, to) })),
    wins(drawn.won, 2, to, "bim-winner"),
    wins(drawn.won, 3, to, "bim-ours"),
    seen.map(([nbytes, time]) => svg("circle", { class: "bim-seen", cx: to.x(nbytes), cy: to.y(time), r: 2.6 })),
    names(drawn.all, to),
    cursor,
  );
  hold(node, (px) => onHold(to.size(px)));
  return { node, show: (nbytes) => moved(cursor, to.x(nbytes), 0) };
}

// Each candidate's estimate at one size, the smallest first: what comes before the first byte, and the bytes.
export function barsPicture(candidates, lines, nbytes, width) {
  const [left, right, high] = [112, 70, 24];
  const longest = Math.max(...candidates.map(({ raw }) => raw));
  const x = (seconds) => left + (seconds / longest) * (width - left - right);
  const rows = candidates.map((one, i) => {
    const { latency } = lines.get(way(one));
    const [y, kind] = [i * high, i ? "" : "bim-first"];
    return [
      label(`bim-label bim-name ${kind}`, 0, y + 16, way(one)),
      rect("bim-start", x(0), y + 4, x(latency) - x(0), 16),
      rect(`bim-bytes ${kind}`, x(latency), y + 4, Math.max(1, x(one.raw) - x(latency)), 16),
      label(`bim-label ${kind}`, x(one.raw) + 6, y + 16, secondsText(one.raw)),
    ];
  });
  const words = `NCCL's estimates at ${nbytesText(nbytes)}: the start, and the bytes`;
  return canvas("bim-bars", width, candidates.length * high + 2, words, rows);
}
