// Who goes where, as helpers/collectives/routing.py: a made-up router, slots in order, what each rank sends. Tested equal.
import { times } from "../shared/page/numbers.mjs";

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

export const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

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
