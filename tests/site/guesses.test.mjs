// What a guess is worth, without a page: read, told as a factor, kept or not.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInThisContext } from "node:vm";

const BYTES = { bytes: 1, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };
const TIME = { ns: 1e-9, µs: 1e-6, ms: 1e-3, s: 1, minutes: 60 };
globalThis.BytesInMotion = {};
runInThisContext(readFileSync(new URL("../../assets/guess/guesses.js", import.meta.url), "utf8"));
const { parse, spell, gap, off, sentence, stored, keep, keeps, forget, all } = BytesInMotion.guesses;

function storage(methods) {
  Object.defineProperty(globalThis, "localStorage", { configurable: true, ...methods });
}

function working() {
  const held = new Map();
  const value = {
    getItem: (key) => held.get(key) ?? null,
    setItem: (key, text) => held.set(key, text),
    removeItem: (key) => held.delete(key),
  };
  storage({ value });
  return held;
}

test("a number is read with its unit, in another of the kind, with thousands and with either point", () => {
  const read = {
    40: 40,
    "4e1": 40,
    "40 ms": 40,
    "0.04 s": 40,
    "40000 us": 40,
    "40 MS": 40,
    "0,5": 0.5,
    "1,024.5": 1024.5,
    "2^10 ms": 1024,
    "~40": 40,
  };
  for (const [text, want] of Object.entries(read)) assert.ok(Math.abs(parse(text, "ms", TIME) - want) < 1e-9, text);
  assert.equal(parse("1,024", "bytes", BYTES), 1024);
  assert.equal(parse("2 gib", "MiB", BYTES), 2048);
  assert.equal(parse("6 steps", "steps", { steps: 1 }), 6);
  for (const text of ["", "many", "-4", "4 apples", "4 MiB"]) assert.ok(Number.isNaN(parse(text, "ms", TIME)), text);
});

test("a value is told in the unit in which it is at least one", () => {
  assert.equal(spell(0.024, "ms", TIME), "24 µs");
  assert.equal(spell(1920, "MiB", BYTES), "1.88 GiB");
  assert.equal(spell(0.34, "%", { "%": 1 }), "0.34 %");
});

test("a gap is told as the factor that it is", () => {
  const told = {
    1.1: "as good as right",
    1.5: "1.5 times too high",
    2: "2 times too high",
    4.24: "4.2 times too high",
  };
  for (const [factor, words] of Object.entries(told)) assert.equal(gap(Math.log2(factor)), words);
  assert.equal(gap(Math.log2(10_400)), "10,000 times too high");
  assert.equal(gap(Math.log2(0.3)), "3.3 times too low");
});

test("the sentence says both numbers; that of a curve its mean and its worst place", () => {
  const number = { said: [40], truth: [9.6], unit: "ms", units: TIME, text: "9.6 ms" };
  assert.equal(sentence(number), "You said 40 ms, it is 9.6 ms: 4.2 times too high.");
  const many = { said: [3], truth: [1], unit: "GiB", units: BYTES };
  assert.match(sentence({ ...many, text: "1024 MiB" }), /^You said 3072 MiB, it is 1024 MiB/, "both in one unit");
  const drawn = { ...many, kind: "bar", text: "1024 MiB" };
  assert.match(sentence(drawn), /^You said 3 GiB, it is 1024 MiB/, "what was drawn as on its scale");
  const tiny = { ...many, said: [1e-6], text: "1 GiB" };
  assert.match(sentence(tiny), /^You said 1.05 KiB/, "unless nothing is left of it there");
  const curve = { said: [1, 4, 1], truth: [1, 1, 4], unit: "ms", units: TIME, labels: ["1 KiB", "2 KiB", "4 KiB"] };
  assert.ok(Math.abs(off(curve) - 4 / 3) < 1e-9);
  assert.equal(
    sentence(curve),
    "On average your curve is off by a factor of 2.5; farthest at 2 KiB: 4 times too high.",
  );
  assert.match(sentence({ ...curve, said: [1, 1, 4] }), /^On average your curve is as good as right/);
});

test("guesses are kept beside each other, and forgotten together", () => {
  const held = working();
  assert.ok(keeps() && held.size === 0);
  assert.ok(keep("ring:bytes", { said: [64] }) && keep("ring:steps", { said: [4] }));
  assert.deepEqual(stored(), { "ring:bytes": { said: [64] }, "ring:steps": { said: [4] } });
  forget();
  assert.deepEqual([stored(), all(), held.size], [{}, {}, 0]);
});

test("where the browser keeps nothing that is said, and the page still knows its guesses", () => {
  const refuse = () => {
    throw new Error("denied");
  };
  const full = { getItem: () => null, setItem: refuse, removeItem: refuse };
  const silent = { getItem: () => null, setItem() {}, removeItem() {} };
  for (const methods of [{ get: refuse }, { value: full }, { value: silent }]) {
    storage(methods);
    assert.equal(keep("ring:bytes", { said: [64] }), false);
    assert.deepEqual(all(), { "ring:bytes": { said: [64] } });
    forget();
    assert.deepEqual(all(), {});
  }
  storage({ get: refuse });
  assert.equal(keeps(), false);
  storage({ value: { getItem: () => "not json" } });
  assert.deepEqual(stored(), {});
});
