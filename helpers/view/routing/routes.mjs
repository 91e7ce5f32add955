// Who goes where, as helpers/collectives/routing.py: a made-up router, slots in order, what each rank sends; and what is said of it, as
// widget.py says it. Tested equal.
import { count, nbytesText, times } from "../shared/page/numbers.mjs";

const NOISE = 1000;
const FAVOUR = 2;

function mixed(number) {
  let n = number >>> 0;
  n = Math.imul(n ^ (n >>> 16), 0x85ebca6b) >>> 0;
  n = Math.imul(n ^ (n >>> 13), 0xc2b2ae35) >>> 0;
  return (n ^ (n >>> 16)) >>> 0;
}

function score({ seed, experts, skew }, token, expert) {
  const liked = (5 * expert + 3) % experts;
  const ahead = Math.floor((FAVOUR * NOISE * skew * liked) / (100 * Math.max(1, experts - 1)));
  return (mixed(mixed(mixed(seed) + token) + expert) % NOISE) + ahead;
}

function choices(s, token) {
  const scores = times(s.experts, (expert) => score(s, token, expert));
  return times(s.experts, (expert) => expert)
    .toSorted((a, b) => scores[b] - scores[a] || a - b)
    .slice(0, s.top_k);
}

// First choices are served before second ones, and among these earlier tokens first.
function placed(tokens, experts, slots) {
  const taken = times(experts, () => 0);
  const places = tokens.map((chosen) => chosen.map(() => -1));
  for (let choice = 0; choice < tokens[0].length; choice++)
    tokens.forEach((chosen, token) => {
      const expert = chosen[choice];
      if (slots === null || taken[expert] < slots) places[token][choice] = taken[expert]++;
    });
  return places;
}

export const slotsOf = ({ tokens, top_k, experts, capacity }) =>
  capacity ? Math.max(1, Math.ceil((tokens * top_k * capacity) / experts)) : null;

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

// s: the spec. -> { slots, chosen, slot, byExpert, matrix, loads, asked, dropped, rows(src, dst) }, indices as in Python.
export function routes(s) {
  const { nranks, tokens, experts } = s;
  const [slots, here] = [slotsOf(s), experts / nranks];
  const chosen = times(nranks, (rank) => times(tokens, (i) => choices(s, rank * tokens + i)));
  const slot = chosen.map((one) => placed(one, experts, slots));
  const byExpert = chosen.map((one, rank) => {
    const counts = times(experts, () => 0);
    one.forEach((experts_, token) =>
      experts_.forEach((expert, choice) => {
        if (slot[rank][token][choice] >= 0) counts[expert]++;
      }),
    );
    return counts;
  });
  const matrix = byExpert.map((row) => times(nranks, (dst) => sum(row.slice(dst * here, (dst + 1) * here))));
  const loads = times(experts, (expert) => sum(byExpert.map((row) => row[expert])));
  const asked = nranks * tokens * s.top_k;
  const rows = (src, dst) => (slots === null ? matrix[src][dst] : slots * here);
  return { slots, chosen, slot, byExpert, matrix, loads, asked, dropped: asked - sum(loads), rows };
}

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
