// Where segments stand: strips in lines of equal length, one scale per pool; a segment longer than a line goes on in the next.
const MIB = 1024 ** 2;
const SCALES = [
  2, 4, 8, 16, 20, 40, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 2560, 5120, 10240, 20480, 40960, 81920, 163840,
  655360, 1310720,
].map((n) => n * MIB);
const LINES = { small: 3, large: 9 };
const GAP = 6; // pixels between two segments of a line

// -> [[line, pixel, from byte, to byte]] of every segment
function flow(sizes, scale, width) {
  let [line, x] = [0, 0];
  return sizes.map((size) => {
    const pixels = (size / scale) * width;
    if (x > 0 && x + Math.min(pixels, width) > width + 0.5) [line, x] = [line + 1, 0];
    const pieces = [];
    for (let at = 0; at < size;) {
      const to = Math.min(size, at + ((width - x) / width) * scale);
      if (to - at < 1) {
        [line, x] = [line + 1, 0];
        continue;
      }
      pieces.push([line, x, at, to]);
      x += ((to - at) / scale) * width;
      if (to < size) [line, x] = [line + 1, 0];
      at = to;
    }
    x += GAP;
    if (x >= width) [line, x] = [line + 1, 0];
    return pieces;
  });
}

const lines = (placed) => Math.max(0, ...placed.flat().map(([line]) => line + 1));

// segments: [[pool, bytes]]; least: no finer scale than this. -> { scale, pieces: by segment, lines } per pool, numbers of segments kept
export function layOut(segments, pool, width, least = 0) {
  const mine = segments.map(([name, size], i) => [i, name, size]).filter(([, name]) => name === pool);
  const sizes = mine.map(([, , size]) => size);
  const fit = (scale) => lines(flow(sizes, scale, width)) <= LINES[pool];
  const scale =
    SCALES.find((one) => one >= least && one >= Math.min(Math.max(0, ...sizes), 80 * MIB) && fit(one)) ?? SCALES.at(-1);
  const placed = flow(sizes, scale, width);
  return { scale, lines: lines(placed), pieces: new Map(mine.map(([i], k) => [i, placed[k]])) };
}
