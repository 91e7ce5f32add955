// Where sizes, bandwidths and times stand on the picture, and what its ticks say.
import { bandwidthText, nbytesText, secondsText, ticks, times } from "../../shared/page/numbers.mjs";

export const HIGH = 300;
const [TOP, BOTTOM, LEFT, RIGHT] = [26, 26, 64, 30];

const flat = (curves, pick) => curves.flatMap(({ run }) => pick(run));

function bandwidths(curves) {
  const most = Math.max(...flat(curves, ({ busbw }) => busbw));
  const at = ticks(1.02 * most, 6);
  const last = Math.max(1.02 * most, at.at(-1));
  return { ticks: at, share: (value) => value / last, text: bandwidthText, of: ({ busbw }) => busbw };
}

const ROUND = [1, 2, 5];

// Powers of ten inside, with 2 and 5 times them where there are few.
function decades(low, high) {
  const from = Math.floor(Math.log10(low));
  const all = times(Math.ceil(Math.log10(high)) - from + 1, (i) => ROUND.map((one) => one * 10 ** (from + i))).flat();
  const inside = all.filter((one) => one >= low * 0.999 && one <= high * 1.001);
  const tens = inside.filter((one) => Math.abs(Math.log10(one) % 1) < 1e-9 || Math.abs(Math.log10(one) % 1) > 1 - 1e-9);
  return tens.length > 1 ? tens : inside;
}

function seconds(curves) {
  const low = 0.8 * Math.min(...flat(curves, ({ least }) => least));
  const high = 1.25 * Math.max(...flat(curves, ({ most }) => most));
  const share = (value) => Math.log(value / low) / Math.log(high / low);
  return { ticks: decades(low, high), share, text: secondsText, of: (run) => run.seconds };
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
