// Which run a reader's choice leads to, which values a choice offers, and what a link may ask for. On made runs.
import assert from "node:assert/strict";
import test from "node:test";
import { another, nearest, offered } from "../../helpers/view/published/data/nearest.mjs";
import { percent } from "../../helpers/view/published/data/words.mjs";
import { fits } from "../../helpers/view/published/link.mjs";

const made = (key, collective, nranks, gpu, loaded, many = 1) => ({
  key,
  collective,
  nranks,
  gpu,
  dtype: "half",
  loaded,
  version: loaded,
  folder: loaded,
  setting: "",
  table: { by: "nccl-tests" },
  sizes: Array.from({ length: many }, (_, i) => 1024 << i),
});

const RUNS = [
  made("a", "all_reduce", 8, "H100", "2.29.2"),
  made("b", "all_reduce", 4, "H100", "2.28.9"),
  made("c", "all_gather", 8, "B200", "2.29.2"),
  made("d", "all_gather", 2, "H100", "2.28.9"),
  made("e", "all_reduce", 16, "H100", "2.27.3"),
  made("f", "all_reduce", 16, "H100", "2.27.3", 3),
];

test("a choice keeps the GPU before the number of ranks, and both before the version", () => {
  assert.equal(nearest(RUNS, RUNS[0], "collective", "all_gather").key, "d");
  assert.equal(nearest(RUNS, RUNS[0], "nranks", "4").key, "b");
  assert.equal(nearest(RUNS, RUNS[1], "gpu", "B200").key, "c");
  assert.equal(nearest(RUNS, RUNS[0], "gpu", "A100"), null);
});

test("of equals the one with more sizes, and of these the first", () => {
  assert.equal(nearest(RUNS, RUNS[0], "nranks", 16).key, "f");
  const twice = [RUNS[4], { ...RUNS[4], key: "g" }];
  assert.equal(nearest(twice, RUNS[0], "nranks", 16).key, "e");
  assert.equal(another(RUNS, [RUNS[0], RUNS[5]]).key, "e");
  assert.equal(another([RUNS[0]], [RUNS[0]]), null);
});

test("numbers of ranks rise, and only those of the same collective and GPU are offered", () => {
  assert.deepEqual(offered(RUNS, RUNS[0], "nranks"), [4, 8, 16]);
  assert.deepEqual(offered(RUNS, RUNS[0], "collective"), ["all_reduce", "all_gather"]);
  assert.deepEqual(offered(RUNS, RUNS[2], "gpu"), ["B200", "H100"]);
});

test("a link asks for one to three different runs, at a size that one of them has", () => {
  const asks = (curves, at = 1024, axis = "busbw") => fits(RUNS, { curves, at, axis });
  assert.ok(asks(["a", "b", "c"]) && asks(["a", "f"], 4096) && asks(["a"], 1024, "time"));
  assert.ok(!asks(["a", "b", "c", "d"]) && !asks(["a", "a"]) && !asks(["x"]) && !asks(["a"], 2048));
  assert.ok(!asks(["a"], 1024, "algbw"));
});

test("half a per cent is one", () => {
  assert.deepEqual([0.0049, 0.005, 0.0149, 0.015].map(percent), ["under 1 %", "1 %", "1 %", "2 %"]);
});
