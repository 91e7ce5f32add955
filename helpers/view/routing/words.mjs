// What the widget says, as widget.py says it. Tested equal.
import { count, nbytesText, times } from "../shared/page/numbers.mjs";
import { sum } from "./routes.mjs";

export const ROW = 8192; // bytes of a token
const nearest = (part, whole) => Math.floor((2 * part + whole) / (2 * whole));

export function verdict({ nranks, tokens, experts }, { slots, asked, dropped }) {
  const said = `${nranks * tokens} tokens make ${asked} copies for ${experts} experts`;
  if (slots === null) return `${said}. None is dropped: the ranks tell each other first how many come.`;
  const none = `${dropped} find none, ${nearest(100 * dropped, asked)} %.`;
  return `${said}, ${count(slots, "slot")} each for every rank's tokens. ${none}`;
}

// Rows that each rank sends to others.
const left = ({ nranks }, { rows }) =>
  times(nranks, (src) => sum(times(nranks, (dst) => (dst === src ? 0 : rows(src, dst)))));

// Copies that each rank computes.
export const computed = ({ nranks }, { matrix }) => times(nranks, (dst) => sum(matrix.map((row) => row[dst])));

export function compared(s, r) {
  const total = sum(r.loads);
  if (r.slots === null) {
    const each = computed(s, r);
    const most = Math.max(...each);
    const hundredths = nearest(100 * most * s.nranks, total);
    const wait = `${Math.floor(hundredths / 100)}.${`${hundredths % 100}`.padStart(2, "0")} times as long`;
    const bytes = left(s, r).map((rows) => ROW * rows);
    return (
      `Rank ${each.indexOf(most)} computes most, ${most} rows where the mean is ${total / s.nranks}: the experts take ` +
      `${wait} as with equal loads. A rank sends ${nbytesText(Math.min(...bytes))} to ${nbytesText(Math.max(...bytes))}.`
    );
  }
  const rows = s.experts * r.slots;
  const sent = nbytesText(ROW * (s.nranks - 1) * r.rows(0, 1));
  const full = nearest(100 * total, s.nranks * rows);
  return `Every rank computes ${rows} rows and sends ${sent}, filled or not; ${full} % of the slots hold a copy.`;
}
