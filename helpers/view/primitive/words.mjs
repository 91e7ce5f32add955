// What a cell is made of in words, and the call as code.
import { literal, word } from "../shared/page/copied.mjs";
import { count, times } from "../shared/page/numbers.mjs";
import { folding, gets, numberText, origins, peer } from "./numbers.mjs";

const inSum = (text) => (text.startsWith("-") ? `(${text})` : text);
const joined = (texts, sign) => texts.map((text, i) => (i ? inSum(text) : text)).join(` ${sign} `);

// "6 = 1 + 2 + 3", "3 = max(1, 2, 3)"; a number that nothing was added to stands alone.
export function arithmetic(op, numbers, value) {
  const [texts, result] = [numbers.map(numberText), numberText(value)];
  if (numbers.length === 1) return result;
  if (op === "sum") return `${result} = ${joined(texts, "+")}`;
  if (op === "product") return `${result} = ${joined(texts, "×")}`;
  if (op === "avg") return `${result} = (${joined(texts, "+")}) / ${texts.length}`;
  return `${result} = ${op}(${texts.join(", ")})`;
}

// One cell: { value, from: [[rank, slot]], text: its arithmetic }
export function cellOf(s, after, rank, slot) {
  const from = origins(s)[rank][slot];
  return {
    value: after[rank][slot],
    from,
    text: arithmetic(
      folding(s),
      from.map(([r, i]) => s.rows[r][i]),
      after[rank][slot],
    ),
  };
}

// Where a cell comes from: "slot 2 of every rank", "slot 1 of rank 3", "its own slot 0".
export function whence(s, rank, from) {
  const [[first, slot]] = from;
  if (from.length > 1) return `slot ${slot} of every rank`;
  return first === rank ? `its own slot ${slot}` : `slot ${slot} of rank ${first}`;
}

export function sentence(s, after, [rank, slot]) {
  const { from, text } = cellOf(s, after, rank, slot);
  if (s.p.name === "barrier") {
    const late = s.rows.findIndex(([time]) => time === after[rank][slot]);
    return `Rank ${rank} leaves at ${numberText(after[rank][slot])} ms: nobody goes on before rank ${late}, the last, is there.`;
  }
  const verb = from.length === 1 && from[0][0] === rank && s.p.kind === "whole" ? "still holds" : "now holds";
  return `Rank ${rank} ${verb} ${text}, from ${whence(s, rank, from)}.`;
}

// What has happened, once all has arrived.
export const ending = (s, after) =>
  `${s.p.name}: ${times(s.nranks, (r) => r)
    .filter((r) => gets(s, r))
    .map((r) => `rank ${r} ${s.p.name === "barrier" ? "leaves at" : "holds"} ${after[r].map(numberText).join(", ")}`)
    .join("; ")}.`;

const filled = (s, text) =>
  text
    .replaceAll("{nranks}", s.nranks)
    .replaceAll("{root}", s.root)
    .replaceAll("{peer}", peer(s.root, s.nranks))
    .replaceAll("{OP}", literal(word(s.op)).toUpperCase());

// Who has a buffer of which length: "every rank", "rank 0".
const whose = (s, who) =>
  ({ all: "every rank", root: `rank ${s.root}`, peer: `rank ${s.root} and rank ${peer(s.root, s.nranks)}` })[who];

// What tensors a rank needs and gets, as a comment over the call.
function shapes(s, out) {
  const x = `# x: float32[${s.length}] on`;
  if (s.p.name === "barrier") return "# x: when this rank arrives, in ms; the barrier itself takes no tensor";
  if (s.p.name === "send_recv") return `${x} ${whose(s, "peer")}`;
  if (s.p.kind === "whole")
    return `${x} every rank, ${s.p.gives === "all" && s.p.gets === "root" ? `the result on rank ${s.root}` : "changed in place"}`;
  const result = s.p.name === "gather" ? `parts: ${s.nranks} × float32[${s.length}]` : `out: float32[${out}]`;
  return `${x} ${whose(s, s.p.gives)}; ${result} on ${whose(s, s.p.gets)}`;
}

// The call with its shapes, as it stands inside a rank.
export const code = (s, after) =>
  [
    shapes(s, Math.max(...after.map((row) => row.length))),
    ...s.p.prepare.map((text) => filled(s, text)),
    filled(s, s.p.call),
  ].join("\n");

// A cell that runs the call on real ranks, with these numbers.
export function runnable(s) {
  const { name, prepare, call, result } = s.p;
  const inside = [
    "rank = dist.get_rank()",
    "x = torch.tensor(before[rank], dtype=torch.float32)",
    ...prepare.map((text) => filled(s, text)),
    filled(s, call),
    `return ${filled(s, result)}`,
  ];
  return [
    name === "barrier" && "import time\n",
    "import torch",
    "import torch.distributed as dist\n",
    "from helpers.ranks import Ranks\n",
    `before = ${literal(s.rows)}\n\n`,
    `def ${name}():`,
    ...inside.map((line) => `    ${line}`),
    "\n",
    `with Ranks(${s.nranks}) as ranks:`,
    `    print(*ranks.run(${name}), sep="\\n")`,
  ]
    .filter(Boolean)
    .join("\n");
}

// What of typed or pasted numbers has no place on show; "" where all have one.
export function unused(s, rows, rank = 0, slot = 0) {
  const lines = Math.max(0, rank + rows.length - s.nranks);
  const numbers = rows
    .slice(0, s.nranks - rank)
    .reduce((sum, row) => sum + Math.max(0, slot + row.length - s.length), 0);
  const left = [
    numbers && `${count(numbers, "number")} beyond the ${count(s.length, "slot")} of a rank`,
    lines && `${count(lines, "row")} beyond the ${count(s.nranks, "rank")}`,
  ].filter(Boolean);
  return left.length ? `Not on show: ${left.join(" and ")}.` : "";
}
