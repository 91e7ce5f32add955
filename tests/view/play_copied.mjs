// Every cell that a widget offers to copy, with one text wherever a state holds text. Driven by test_copied.py.
import { readFileSync } from "node:fs";
import { python as calculator } from "../../helpers/view/calculator/link.mjs";
import { python as choice } from "../../helpers/view/choice/link.mjs";
import { python as clock } from "../../helpers/view/clock/link.mjs";
import { python as holds } from "../../helpers/view/holds/link.mjs";
import { python as memory } from "../../helpers/view/memory/link.mjs";
import { python as mesh } from "../../helpers/view/mesh/link.mjs";
import { python as occupancy } from "../../helpers/view/occupancy/link.mjs";
import { python as overlap } from "../../helpers/view/overlap/link.mjs";
import { python as pipeline } from "../../helpers/view/pipeline/state.mjs";
import { python as player } from "../../helpers/view/player/state/link.mjs";
import { python as playground } from "../../helpers/view/playground/link.mjs";
import { python as primitive } from "../../helpers/view/primitive/link.mjs";
import { python as published } from "../../helpers/view/published/link.mjs";
import { python as routing } from "../../helpers/view/routing/link.mjs";
import { python as segments } from "../../helpers/view/segments/link.mjs";
import { textOf } from "../../helpers/view/shared/page/copied.mjs";
import { python as warp } from "../../helpers/view/warp/link.mjs";

const WOVEN = { schedules: {} };
const TRAINED = { precision: 1, optimizer: 1, attention: 1, checkpoint: 1 };
const AXES = ["pipeline", "data", "shard", "tensor"];
const SCHEDULE = { nranks: 2, nchunks: 1, root: null, steps: [[{ chunk: 0, src: 1, dst: 0, adds: true }]] };
const PRICED = { nbytes: 1000, step: 3, gpus: 4, nics: 2 };

const cells = (text) => {
  const all = (words) => Object.fromEntries(Object.keys(words).map((name) => [name, text]));
  const train = { ...all({ model: 1, device: 1, ...TRAINED }), mode: "train", batch: 1, seq: 256, zero: 0, data: 8 };
  const serve = { ...all({ model: 1, device: 1 }), mode: "serve", batch: 1, seq: 256, width: 2, cache: 2 };
  const chosen = { ...all({ collective: 1, machine: 1, version: 1, beside: 1 }), nbytes: 1024, nodes: 1, nranks: 8 };
  const overlapped = {
    ...all({ model: 1, gpu: 1, link: 1, mode: 1, way: 1 }),
    tokens: 1,
    share: 50,
    bucket: 0,
    prefetch: 1,
  };
  const times = { forward: 1, input: 1.25, weight: 1, hop: 0 };
  const piped = { ...times, schedule: text, nranks: 4, nmicrobatches: 8, nvirtual: 2, versus: text, step: 2 };
  const named = { collective: text, algorithm: text, nranks: 4, link: text, across: text, rival: { algorithm: text } };
  return {
    calculator: [
      calculator({ ...train, tensor: 1, sequence: false }),
      calculator({ ...train, zero: 3, tensor: 2, sequence: true }),
      calculator(serve),
    ],
    choice: [choice(chosen)],
    clock: [clock({ link: text, nbytes: 1024, at: 1 })],
    holds: [holds({ way: text, beside: text, at: 1, rank: 1 })],
    memory: [memory({ show: text, axis: "seconds", rank: 1, at: 2, limit: 3 }), memory({ show: null, rank: 0, at: 2 })],
    mesh: [mesh({ axes: AXES.map((name) => [name, 2]), expert: 1, gpus: 8, axis: text, rank: null })],
    occupancy: [occupancy({ gpu: text, threads: 256, registers: 32, shared: 0 })],
    overlap: [overlap(overlapped)],
    pipeline: [
      pipeline({ ...piped, text: "", fsdp: true }, WOVEN),
      pipeline({ ...piped, text: `${text} nranks=4\n${text}` }, WOVEN),
    ],
    player: [
      player({ ...PRICED, ...named }, {}),
      player({ ...PRICED, recorded: { name: text } }, { text: `${text}\n${text}` }),
      player({ ...PRICED, recorded: {} }, { text }),
    ],
    playground: [playground({ ...SCHEDULE, collective: text, algorithm: text }, 1000, text)],
    primitive: [
      primitive({
        primitive: text,
        nranks: 2,
        root: 1,
        op: text,
        values: [
          [1, -0.5],
          [1e-7, 2],
        ],
      }),
    ],
    published: [published({ curves: [text, `${text} 2`], at: 512, axis: text, model: true, line: false })],
    routing: [routing({ nranks: 2, tokens: 4, experts: 4, top_k: 1, skew: 0, capacity: 0.5, seed: 7 })],
    segments: [segments({ program: text, limit: 8 }, { mode: text, step: 1 })],
    warp: [warp({ view: "branch", branch: text, taken: 1, other: 1 })],
  };
};

const { marks } = JSON.parse(readFileSync(process.argv[2], "utf8"));
console.log(
  JSON.stringify(
    marks.map((mark) =>
      Object.fromEntries(Object.entries(cells(mark)).map(([name, codes]) => [name, codes.map(textOf)])),
    ),
  ),
);
