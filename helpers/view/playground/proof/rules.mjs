// What a target forbids beside a wrong result: the rules of helpers.exercises.puzzles_rules, tested equal.
import { times } from "../../shared/page/numbers.mjs";

// A rank sends to one place and receives from one place in a step.
function onePort(step, n) {
  for (const [verb, way, end, other] of [
    ["sends", "to", "src", "dst"],
    ["receives", "from", "dst", "src"],
  ]) {
    const peers = new Map();
    for (const t of step) {
      const first = peers.get(t[end]) ?? t[other];
      peers.set(t[end], first);
      if (first !== t[other])
        return {
          rank: t[end],
          message:
            `step ${n}: rank ${t[end]} ${verb} ${way} rank ${first} and ${way} rank ${t[other]} at once; ` +
            `here a rank has one port each way, so one message out and one in.`,
        };
    }
  }
  return null;
}

// A message carries one chunk.
function oneChunk(step, n) {
  const carried = new Map();
  for (const { src, dst, chunk } of step) {
    const first = carried.get(`${src},${dst}`) ?? chunk;
    carried.set(`${src},${dst}`, first);
    if (first !== chunk)
      return {
        rank: src,
        message:
          `step ${n}: rank ${src} sends chunks ${first} and ${chunk} to rank ${dst} in one message; ` +
          `here a message carries one chunk, so that a step is as short as it can be.`,
      };
  }
  return null;
}

// In every step each rank exchanges with one partner, both ways, and nobody sits out.
function matching(step, n, nranks) {
  const to = new Map(step.map(({ src, dst }) => [src, dst]));
  for (const rank of times(nranks, (r) => r)) {
    if (!to.has(rank))
      return { rank, message: `step ${n}: rank ${rank} sends nothing; here everybody has a partner in every step.` };
    const back = to.get(to.get(rank));
    if (back !== rank)
      return {
        rank,
        message:
          `step ${n}: rank ${rank} sends to rank ${to.get(rank)}, ` +
          `which sends to ${back === undefined ? "nobody" : `rank ${back}`}; partners send to each other.`,
      };
  }
  return null;
}

const RULES = { one_port: onePort, one_chunk: oneChunk, matching };

// The first step that breaks a rule, rule by rule: { step, from, rank, message }, or null.
export function forbidden(s, rules) {
  for (const rule of rules)
    for (const [i, step] of s.steps.entries()) {
      const found = RULES[rule](step, i + 1, s.nranks);
      if (found) return { ...found, step: i + 1, from: i + 1 };
    }
  return null;
}
