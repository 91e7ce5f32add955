// The straight line through times whose largest relative error is least; as minimax of helpers/facts/fit.py, tested equal.

// How far the middle point lies off the chord of the others, as the relative error that no line through the three avoids.
function bend([a, ta], [b, tb], [c, tc]) {
  const chord = (ta * (c - b) + tc * (b - a)) / (c - a);
  return (tb - chord) / (tb + chord);
}

const lineOf = ([a, ta], [c, tc], error) => ({
  alpha: ((1 + error) * (ta * c - tc * a)) / (c - a),
  beta: ((1 + error) * (tc - ta)) / (c - a),
});

// The three points that can be served least, tried all; the first of equals, as Python's max.
function hardest(points) {
  let found = { size: -1 };
  for (let i = 0; i < points.length - 2; i++) {
    for (let j = i + 1; j < points.length - 1; j++) {
      for (let k = j + 1; k < points.length; k++) {
        const error = bend(points[i], points[j], points[k]);
        if (Math.abs(error) > found.size) found = { size: Math.abs(error), ends: [points[i], points[k]], error };
      }
    }
  }
  return found;
}

// sizes ascending, each once. -> { alpha, beta, worst }, null through a single size
export function lineThrough(sizes, seconds) {
  if (sizes.length < 2) return null;
  const points = sizes.map((size, i) => [size, seconds[i]]);
  const { ends, error } = points.length === 2 ? { ends: points, error: 0 } : hardest(points);
  const line = lineOf(...ends, error);
  const off = points.map(([size, second]) => Math.abs((line.alpha + size * line.beta) / second - 1));
  return { ...line, worst: Math.max(...off) };
}

export const lineAt = ({ alpha, beta }, nbytes) => alpha + nbytes * beta;
