import assert from "node:assert/strict";
import { test } from "node:test";
import {
  PLAY_MS,
  STEP_MS,
  eased,
  go,
  moving,
  seek,
  shown,
  start,
  tick,
  toggle,
  uneased,
} from "../../helpers/view/shared/page/motion.mjs";

test("nothing moves before something is pressed", () => {
  assert.equal(moving(start(6)), false);
  assert.deepEqual(tick(start(6), 10000, 1), start(6));
});

test("a step takes 450 ms at speed 1, half of that at speed 2, and a second among others", () => {
  assert.equal(tick(toggle(start(6)), PLAY_MS, 1).position, 1);
  assert.equal(tick(go(start(6), 1), STEP_MS / 2, 1).position, 0.5);
  assert.equal(tick(go(start(6), 1), STEP_MS, 1).position, 1);
  assert.equal(tick(go(start(6), 1), STEP_MS / 2, 2).position, 1);
});

test("a second press finishes the step under way", () => {
  const half = tick(go(start(6), 1), STEP_MS / 2, 1);
  assert.deepEqual([go(half, 1).position, go(half, 1).target], [1, 2]);
  assert.deepEqual([go(half, -1).position, go(half, -1).target], [1, 0]);
});

test("steps stay inside", () => {
  assert.equal(go(start(2), -1).target, 0);
  assert.equal(go(start(2, 2), 1).target, 2);
  assert.equal(seek(start(2), 9).position, 2);
});

test("playing runs to the end and stops there; from the end it starts again", () => {
  let clock = toggle(start(3));
  for (let i = 0; i < 3; i++) {
    assert.equal(clock.playing, true);
    clock = tick(clock, PLAY_MS, 1);
  }
  assert.deepEqual([clock.position, clock.playing, moving(clock)], [3, false, false]);
  assert.equal(toggle(clock).position, 0);
});

test("a pause finishes the step that is under way", () => {
  const paused = toggle(tick(toggle(start(3)), 1.5 * PLAY_MS, 1));
  assert.deepEqual([paused.position, paused.target, paused.playing], [1.5, 2, false]);
});

test("an empty schedule has nothing to play", () => {
  assert.equal(toggle(start(0)).playing, false);
});

test("in flight, the step is the next one and memory is still the last one", () => {
  assert.deepEqual(shown(2.5), { step: 3, state: 2 });
  assert.deepEqual(shown(3), { step: 3, state: 3 });
});

test("easing keeps whole positions, and has an inverse", () => {
  for (const p of [0, 1, 6]) assert.equal(eased(p), p);
  for (const p of [0.1, 2.5, 3.99]) assert.ok(Math.abs(uneased(eased(p)) - p) < 1e-12);
  assert.ok(eased(0.5) > 0.5); // fast first, slow at the end
});

test("reduced motion jumps", () => {
  assert.equal(go(start(6), 1, true).position, 1);
});
