// Where sizes, bandwidths and times stand on the picture, and what its ticks say.
import { bandwidthText, nbytesText, secondsText, times } from "../../shared/page/numbers.mjs";

export const HIGH = 300;
const [TOP, BOTTOM, LEFT, RIGHT] = [26, 26, 64, 30];

const flat = (curves, pick) => curves.flatMap(({ run }) => pick(run));

// 1, 2 or 5 times a power of ten, so that at most so many fit.
function steps(last, many) {
  const ten = 10 ** Math.floor(Math.log10(last / many));
  const by = ten * [1, 2, 5, 10].find((one) => one * ten * many >= last * (1 - 1e-9));
  return times(Math.floor(last / by + 1e-9) + 1, (i) => i * by);
}

function bandwidths(curves) {
  const most = Math.max(...flat(curves, ({ busbw }) => busbw));
  const ticks = steps(1.02 * most, 6);
  const last = Math.max(1.02 * most, ticks.at(-1));
  return { ticks, share: (value) => value / last, text: bandwidthText, of: ({ busbw }) => busbw };
}

function seconds(curves) {
  const [low, high] = [Math.min(...flat(curves, ({ least }) => least)), Math.max(...flat(curves, ({ most }) => most))];
  const [from, to] = [Math.floor(Math.log10(low) + 1e-9), Math.max(Math.ceil(Math.log10(high) - 1e-9), 1 - 12)];
  const decades = Math.max(1, to - from);
  const ticks = times(decades + 1, (i) => 10 ** (from + i));
  const share = (value) => (Math.log10(value) - from) / decades;
  return { ticks, share, text: secondsText, of: (run) => run.seconds };
}

// -> { x(nbytes), y(value), size at a pixel, ticks }
export function scales(curves, axis, width) {
  const grains = flat(curves, ({ sizes }) => sizes).map(Math.log2);
  const [from, to] = [Math.min(...grains), Math.max(...grains)];
  const span = Math.max(1, to - from);
  const [room, deep] = [width - LEFT - RIGHT, HIGH - TOP - BOTTOM];
  const up = axis === "time" ? seconds(curves) : bandwidths(curves);
  const by = Math.max(1, Math.ceil(span / (room > 420 ? 7 : 4)));
  const along = times(Math.floor(span / by) + 1, (i) => 2 ** (Math.ceil(from) + i * by)).filter(
    (size) => Math.log2(size) <= to + 1e-9,
  );
  return {
    ...up,
    width,
    left: LEFT,
    right: width - RIGHT,
    top: TOP,
    bottom: HIGH - BOTTOM,
    along: along.map((size) => [size, nbytesText(size)]),
    x: (nbytes) => LEFT + ((Math.log2(nbytes) - from) / span) * room,
    y: (value) => HIGH - BOTTOM - up.share(value) * deep,
    grain: (px) => from + Math.min(1, Math.max(0, (px - LEFT) / room)) * span,
  };
}
