// A run on a time axis, the model's or a real one's: where its steps end, a bar for every message, and when each rank is busy.
import { times } from "../page/numbers.mjs";

export const LATE = 1.25; // a step is late when it took over a quarter longer than the model's

// Intervals that touch become one.
function merged(intervals) {
  const found = [];
  for (const [from, to] of intervals.sort((a, b) => a[0] - b[0])) {
    const last = found[found.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

const busy = (bars, places) =>
  times(places, (rank) =>
    merged(
      bars.flatMap(({ src, dst, send, recv }) => [
        ...(src === rank ? [[send[0], send[1]]] : []),
        ...(dst === rank ? [[recv[0], recv[1]]] : []),
      ]),
    ),
  );

// -> { seconds, steps: [{ start, seconds }], bars: [{ step, src, dst, alpha: seconds, send: [from, to], recv: [from, to] }], busy }
export function modelled(cost, places) {
  const bars = cost.steps.flatMap(({ start, messages }, step) =>
    messages.map(({ src, dst, sendAt, recvAt, alpha, transfer }) => {
      const during = (at) => [start + at, start + at + alpha + transfer];
      return { step: step + 1, src, dst, alpha, send: during(sendAt), recv: during(recvAt) };
    }),
  );
  return { seconds: cost.seconds, call: cost.call, steps: cost.steps, bars, busy: busy(bars, places) };
}

// run: { seconds, messages: [[step, src, dst, send start, send end, recv start, recv end]] in nanoseconds }. A step is over when the
// last of its messages, and of those before, has arrived. It is late when it took more than LATE times the model's seconds since
// the step before was over; so are those of its messages that were not there by then. A receive begins when
// both sides have begun, or with the send where it was asked for only after the bytes had come.
export function recorded(run, cost, places) {
  const rows = run.messages.map(([step, src, dst, ...t]) => ({ step, src, dst, t: t.map((ns) => ns / 1e9) }));
  let start = 0;
  const steps = cost.steps.map((model, i) => {
    const end = Math.max(start, ...rows.filter(({ step }) => step === i + 1).map(({ t }) => t[3]));
    const step = {
      start,
      seconds: end - start,
      due: start + LATE * model.seconds,
      late: end - start > LATE * model.seconds,
    };
    start = end;
    return step;
  });
  const bars = rows.map(({ step, src, dst, t }) => {
    const { late, due } = steps[step - 1];
    return {
      step,
      src,
      dst,
      alpha: 0,
      send: [t[0], t[1]],
      recv: [t[2] > t[3] ? t[0] : Math.max(t[0], t[2]), t[3]],
      late: late && t[3] > due,
    };
  });
  return { seconds: Math.max(run.seconds, start), steps, bars, busy: busy(bars, places) };
}

// The share of the time since the call that a rank neither sent nor received; 0 at the start.
export function idle({ busy: all, call = 0 }, rank, seconds) {
  const used = all[rank].reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, seconds) - from), 0);
  const left = seconds > call ? 1 - used / (seconds - call) : 0;
  return left > 1e-9 ? left : 0; // a sum's rounding is no wait
}

export const percent = (share) => `${Math.round(100 * share)} %`;
