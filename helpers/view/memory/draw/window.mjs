// Which events are on show: nearer, farther, to the side. Numbers only.
const LEAST = 8; // events: nearer there is nothing more to see

// `count` events from `from` on, moved and cut so that they lie in the whole. -> [from, to)
export function placed(from, count, [low, high]) {
  const many = Math.min(Math.max(Math.round(count), LEAST), high - low);
  const begin = Math.min(Math.max(Math.round(from), low), high - many);
  return [begin, begin + many];
}

// factor: 0.5 shows half as many; share: the place, from 0 to 1, whose event stays where it is.
export function zoomed([from, to], whole, factor, share = 0.5) {
  const many = Math.min(Math.max((to - from) * factor, LEAST), whole[1] - whole[0]);
  return placed(from + share * (to - from) - share * many, many, whole);
}

// share: how much of the picture's width, to later events where it is above 0.
export const panned = ([from, to], whole, share) => placed(from + share * (to - from), to - from, whole);

// The same number of events around i, where it is not among them.
export function around([from, to], whole, i) {
  return i >= from && i < to ? [from, to] : placed(i - (to - from) / 2, to - from, whole);
}

export const isWhole = ([from, to], [low, high]) => from <= low && to >= high;
