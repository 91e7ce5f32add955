import assert from "node:assert/strict";
import { test } from "node:test";
import { moments } from "../../helpers/view/player/panel/stills.mjs";
import { moments as events } from "../../helpers/view/segments/stills.mjs";

const steps = (last) =>
  moments(last)
    .filter((at) => at && at !== last)
    .map(Math.ceil);

test("stills stand at the start, within steps, and at the end", () => {
  assert.deepEqual(moments(0), [0]);
  assert.deepEqual(moments(1), [0, 0.4, 1]);
  assert.deepEqual(steps(3), [1, 2, 3]);
  assert.deepEqual(steps(6), [1, 3, 4, 6]);
  assert.deepEqual(moments(6, 3), [0, 2.4, 6]);
});

test("of many steps four are shown, each once, the first and the last among them", () => {
  for (let last = 4; last <= 60; last += 1) {
    const shown = steps(last);
    assert.equal(new Set(shown).size, 4);
    assert.deepEqual([shown[0], shown[3]], [1, last]);
    assert.deepEqual(
      moments(last),
      moments(last).toSorted((a, b) => a - b),
    );
  }
});

test("of an allocator's events four are shown, the last among them", () => {
  assert.deepEqual(events(0), []);
  assert.deepEqual(events(3), [1, 2, 3]);
  assert.deepEqual(events(10), [3, 5, 8, 10]);
});
