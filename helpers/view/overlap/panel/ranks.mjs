// A recorded step in the same language: of every rank a lane that computes and one of the link, hatched where nothing computes.
import { badge, canvas, label, rect } from "../../shared/page/dom.mjs";
import { exposedText } from "../words.mjs";
import { axis, gapsOf, hatch, shows } from "./picture.mjs";

const GRAIN = 1e-4; // seconds of a unit of the times
const [TOP, HIGH, GAP, BETWEEN] = [20, 20, 3, 14];
const KINDS = { all_reduce: "bim-s2", reduce_scatter: "bim-s2", all_gather: "bim-s3" };

// Gaps shorter than this share of the step are the machine's own, between two layers.
const LEAST = 0.004;

const kindOf = ([which, , , what]) => {
  if (which) return KINDS[what.split(" ")[0]];
  return what.startsWith("backward") ? "bim-s1" : "bim-s0";
};

function rankOf(events, rank, to) {
  const y = TOP + rank * (2 * HIGH + GAP + BETWEEN);
  const [computing, link] = [0, 1].map((which) => events.filter((event) => event[0] === which));
  const box = (event, top) => {
    const [a, b] = [to.x(event[1] * GRAIN), to.x(event[2] * GRAIN)];
    return rect(`bim-block ${kindOf(event)}`, a, top, Math.max(0.6, b - a - 0.75), HIGH, 1);
  };
  const spans = computing.map(([, start, end]) => [start * GRAIN, end * GRAIN]);
  const gaps = gapsOf(spans, 0, to.to).filter(([start, end]) => end - start > LEAST * to.to);
  return [
    badge(rank, Infinity, to.left - 16, y + HIGH + GAP / 2, 20),
    rect("bim-lane", to.x(0), y + HIGH + GAP, to.x(to.to) - to.x(0), HIGH),
    computing.map((event) => box(event, y)),
    gaps.map((gap) => shows(gap, y, to, HIGH)),
    link.map((event) => box(event, y + HIGH + GAP)),
  ];
}

export function recordedPicture(o, width) {
  const [left, right] = [34, 8];
  const end = Math.max(...o.ranks.flat().map((event) => event[2])) * GRAIN;
  const x = (seconds) => left + (seconds / end) * (width - left - right);
  const to = { wide: width >= 560, left, right, width, from: 0, to: end, x };
  const bottom = TOP + o.ranks.length * (2 * HIGH + GAP + BETWEEN);
  const words = "What each of four ranks computed and sent, over time; hatched is where it computed nothing";
  return canvas(
    "bim-lanes",
    width,
    bottom + 26,
    words,
    hatch(),
    o.ranks.map((events, rank) => rankOf(events, rank, to)),
    label("bim-tag bim-end", width - right, 12, `exposed: ${exposedText(o)}`),
    axis(to, bottom),
  );
}
