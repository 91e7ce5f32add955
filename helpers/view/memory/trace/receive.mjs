// Events as a kernel sends them: in batches, numbered, so that what was missed is known and asked for.
import { append, CLASSES, emptyTrace, KINDS } from "./store.mjs";

// -> { traces: rank -> trace, hear(message) -> whether something new came, received, over }
export function receiver(ask) {
  const ranks = new Map();
  const state = { traces: [], received: 0, batches: 0, asked: 0, over: false, hear };

  function rankOf(rank) {
    if (!ranks.has(rank)) {
      ranks.set(rank, { t: emptyTrace(), what: [], wanted: -1 });
      state.traces = [...ranks].sort(([a], [b]) => a - b).map(([number, { t }]) => [number, t]);
    }
    return ranks.get(rank);
  }

  // message: { rank, from: number of its first event, events: [[what, block, bytes, micros]],
  // named: number of its first name, what: [[kind, cls, module, phase, op]],
  // sampled: number of its first sample, samples: [[event, allocated, reserved]] }
  function hear({ rank, from, events, named, what, sampled = 0, samples = [], over }) {
    if (over !== undefined) state.over = over;
    if (rank === undefined) return over !== undefined;
    const own = rankOf(rank);
    if (from > own.t.n || named > own.what.length) {
      if (own.wanted !== own.t.n) ask({ rank, from: own.t.n, named: own.what.length });
      state.asked += own.wanted !== own.t.n;
      own.wanted = own.t.n;
      return false;
    }
    own.what.push(...what.slice(own.what.length - named));
    const news = events.slice(own.t.n - from);
    for (const [which, block, nbytes, micros] of news) {
      const [kind, cls, module, phase, op] = own.what[which];
      append(own.t, KINDS.indexOf(kind), block, nbytes, CLASSES.indexOf(cls), module, phase, op, micros);
    }
    const said = samples.slice(own.t.samples.length - sampled);
    if (sampled <= own.t.samples.length) own.t.samples.push(...said);
    state.received += news.length;
    state.batches += 1;
    return news.length + said.length > 0;
  }
  return state;
}
