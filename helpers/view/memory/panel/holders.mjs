// Who holds the peak, by line of code, in one sentence; and of two traces, what the one holds more than the other.
import { withUnit } from "../trace/amounts.mjs";
import { byLine, placeOf } from "../trace/lines.mjs";

const FEW = 3; // lines that are named
const LEAST = 0.01; // of the peak: less is not worth a name

const share = (part, all) => `${Math.round((100 * part) / all)}\u00a0%`;

// The lines that are named, and the rest of [[op, bytes]] in one: [[words, bytes]].
function few(lines, all) {
  const named = lines.slice(0, FEW).filter(([, nbytes], i) => !i || Math.abs(nbytes) >= LEAST * all);
  const rest = lines.slice(named.length);
  const sum = rest.reduce((nbytes, one) => nbytes + one[1], 0);
  const other = [`${rest.length} other line${rest.length === 1 ? "" : "s"}`, sum];
  return [...named.map(([op, nbytes]) => [placeOf(op), nbytes]), ...(rest.length ? [other] : [])];
}

// "At the peak, 11.20 GiB, train.py:40 (backward) holds 5.10 GiB, 46 %; then model.py:88 (forward) 3.00 GiB, 27 %; ..."
function atPeak(t, unit) {
  const all = t.total[t.peak];
  if (!all) return "t no moment is anything alive.";
  const told = few(byLine(t, t.peak), all).map(
    ([words, nbytes], i) => `${words}${i ? "" : " holds"} ${withUnit(nbytes, unit)}, ${share(nbytes, all)}`,
  );
  const [first, ...next] = told;
  return `t the peak, ${withUnit(all, unit)}, ${first}${next.length ? `; then ${next.join("; ")}` : ""}.`;
}

// "B holds 1.40 GiB more than A at its peak: model.py:88 (forward) 1.60 GiB more, train.py:3 (step) 0.20 GiB less."
function against(t, other, [name, rival], unit) {
  const [here, there] = [t, other].map((one) => one.total[one.peak]);
  const change = new Map(byLine(other, other.peak));
  for (const [op, nbytes] of byLine(t, t.peak)) change.set(op, (change.get(op) ?? 0) - nbytes);
  const by = (nbytes) => `${withUnit(Math.abs(nbytes), unit)} ${nbytes < 0 ? "less" : "more"}`;
  const lines = [...change].filter(([, nbytes]) => nbytes).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const told = few(lines, Math.max(here, there)).map(([words, nbytes]) => `${words} ${by(nbytes)}`);
  const all =
    here === there
      ? `${rival} and ${name} hold as much at their peaks`
      : `${rival} holds ${by(there - here)} than ${name} at its peak`;
  return `${[all, told.join(", ")].filter(Boolean).join(": ")}.`;
}

// -> the sentences
export function holders({ t, unit, opened, rival, others, pair }) {
  if (!pair) return [`A${atPeak(t, unit)}`];
  const other = others[0].t;
  const name = opened || t.about.label;
  return [`${name}: a${atPeak(t, unit)}`, against(t, other, [name, rival.name], unit)];
}
