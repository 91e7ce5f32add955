// Time from left to right: by event or in seconds, over all events or a part of them. A share is a place from 0 to 1.
const begins = (t, seconds, i) => (seconds ? (t.micros[Math.min(i, t.n - 1)] ?? 0) : i);

// mode: "events" | "seconds"; [from, to): the events of t that are on show; end: where the axis ends at least, for longer ranks.
// -> { mode, from, to, lo, hi, place(i): the share where event i begins, indexAt(share), value(share) }
export function axisOf(t, mode, [from, to] = [0, t.n], end = 0) {
  const seconds = mode === "seconds" && t.timed;
  const last = to < t.n ? begins(t, seconds, to) : Math.max(begins(t, seconds, t.n), end);
  const lo = from > 0 ? begins(t, seconds, from) : 0;
  return spread(t, {
    mode: seconds ? "seconds" : "events",
    from,
    to: Math.min(to, t.n),
    lo,
    hi: Math.max(last, lo + 1),
  });
}

// The same clock for another rank's trace.
export const alike = (t, axis) => spread(t, { ...axis, from: 0, to: t.n });

// The event of another trace at the same place of the clock; its last one where it is over.
export function alongside(t, axis, i) {
  const own = alike(t, axis);
  return own.place(t.n) <= axis.place(i) ? t.n - 1 : own.indexAt(axis.place(i));
}

function spread(t, axis) {
  const { mode, from, to, lo, hi } = axis;
  const place = (i) => (begins(t, mode === "seconds", i) - lo) / (hi - lo);
  function indexAt(share) {
    let [low, high] = [from, Math.max(from, to - 1)];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (place(middle) <= share + 1e-9) low = middle;
      else high = middle - 1;
    }
    return low;
  }
  return { ...axis, place, indexAt, value: (share) => lo + share * (hi - lo) };
}

// For every column of a picture the event that is drawn there: of those that hold in it, the one with the most
// bytes, so that no peak is lost.
export function columns(t, axis, width) {
  const chosen = new Int32Array(width).fill(-1);
  let i = axis.from;
  if (axis.to <= axis.from) return chosen;
  while (i + 1 < axis.to && axis.place(i + 1) <= 0) i += 1;
  for (let x = 0; x < width; x++) {
    const end = (x + 1) / width;
    let best = i;
    while (i + 1 < axis.to && axis.place(i + 1) < end) {
      i += 1;
      if (t.total[i] > t.total[best]) best = i;
    }
    if (axis.place(best) < end) chosen[x] = best;
    if (i === axis.to - 1 && axis.place(axis.to) * width <= x && axis.mode === "events") chosen[x] = -1;
  }
  return chosen;
}
