import assert from "node:assert/strict";
import { test } from "node:test";
import { blockAt, walk } from "../../helpers/view/memory/draw/blocks.mjs";
import { firstOver } from "../../helpers/view/memory/draw/over.mjs";
import { around, isWhole, panned, placed, zoomed } from "../../helpers/view/memory/draw/window.mjs";
import { classBands, lineBands, MOST } from "../../helpers/view/memory/trace/lines.mjs";
import { append, composition, emptyTrace } from "../../helpers/view/memory/trace/store.mjs";

const WHOLE = [100, 1100];

test("nearer and farther keep what is pointed at, and stay inside", () => {
  assert.deepEqual(zoomed(WHOLE, WHOLE, 0.5, 0.5), [350, 850]);
  assert.deepEqual(zoomed([350, 850], WHOLE, 2, 0.5), WHOLE);
  assert.deepEqual(zoomed(WHOLE, WHOLE, 0.5, 0), [100, 600]);
  assert.deepEqual(zoomed([100, 600], WHOLE, 4, 0.9), WHOLE);
  for (const share of [0, 0.2, 0.77, 1])
    for (const factor of [0.1, 0.4, 0.9]) {
      const [from, to] = zoomed([300, 700], WHOLE, factor, share);
      assert.ok(from >= 300 && to <= 700 && Math.abs(from + share * (to - from) - (300 + share * 400)) <= 1.5);
    }
});

test("eight events are the nearest, and fewer than eight all", () => {
  assert.deepEqual(zoomed([300, 310], WHOLE, 0.01, 0.5), [301, 309]);
  assert.deepEqual(placed(0, 3, [0, 5]), [0, 5]);
  assert.deepEqual(placed(-40, 20, [0, 50]), [0, 20]);
});

test("along, and after whoever stands elsewhere", () => {
  assert.deepEqual(panned([300, 400], WHOLE, 0.25), [325, 425]);
  assert.deepEqual(panned([300, 400], WHOLE, -9), [100, 200]);
  assert.deepEqual(panned([300, 400], WHOLE, 9), [1000, 1100]);
  assert.deepEqual(around([300, 400], WHOLE, 399), [300, 400]);
  assert.deepEqual(around([300, 400], WHOLE, 400), [350, 450]);
  assert.ok(isWhole([100, 1100], WHOLE) && !isWhole([101, 1100], WHOLE));
});

// a: parameter of 10 bytes; b: temporary of 4, an activation later; c: temporary of 2; then b goes.
function three() {
  const t = emptyTrace();
  const on = (kind, id, nbytes, cls) => append(t, kind, id, nbytes, cls, "", "", "", 0);
  on(0, 1, 10, 0);
  on(0, 2, 4, 7);
  on(0, 3, 2, 7);
  on(2, 2, 4, 5);
  on(1, 2, 4, 5);
  return t;
}

test("blocks lie in the order of the classes, the oldest lowest, and fill the curve", () => {
  const t = three();
  const seen = [];
  walk(t, classBands, [0, 2, -1, 3, 4], (...one) => seen.push(one));
  assert.deepEqual(seen, [
    [0, 0, 0, 0, 10],
    [1, 0, 0, 0, 10],
    [1, 1, 7, 10, 14],
    [1, 2, 7, 14, 16],
    [3, 0, 0, 0, 10],
    [3, 1, 5, 10, 14],
    [3, 2, 7, 14, 16],
    [4, 0, 0, 0, 10],
    [4, 2, 7, 10, 12],
  ]);
  assert.equal(
    Math.max(...seen.filter(([x]) => x === 4).map(([, , , , top]) => top)),
    composition(t, 4).reduce((sum, one) => sum + one, 0),
  );
  assert.deepEqual(
    [0, 9, 10, 15, 16].map((nbytes) => blockAt({ t, bands: classBands }, 2, nbytes)),
    [0, 0, 1, 2, -1],
  );
  assert.equal(blockAt({ t, bands: classBands }, 4, 10), 2);
});

test("memory runs out where more is alive than fits", () => {
  assert.deepEqual(
    [0, 16, 15, 10, 9].map((limit) => firstOver(three(), limit)),
    [-1, -1, 2, 1, 0],
  );
});

// A block of so many bytes for each line, one after the other, all alive in the end.
function lined(sizes) {
  const t = emptyTrace({ about: { classes: false } });
  sizes.forEach(([op, nbytes], i) => append(t, 0, i, nbytes, 7, "", "", op, 0));
  return t;
}

test("two lines never have one colour, the same line has one in both traces, and bands fill the curve", () => {
  const sizes = Array.from({ length: 30 }, (_, i) => [`step train.py:${i}`, 100 - i]);
  const [t, other] = [lined(sizes), lined([...sizes].reverse())];
  const bands = lineBands([t, other]);
  assert.deepEqual(bands.names.slice(-2), ["train.py:15 (step)", "other lines (14)"]);
  const inks = bands.names.map((_, b) => JSON.stringify(bands.ink(b)));
  assert.deepEqual([new Set(inks).size, inks.length], [MOST + 1, MOST + 1]);
  sizes.forEach((_, i) => assert.equal(bands.of(t, i), bands.of(other, 29 - i)));
  assert.equal(bands.of(t, 0), 0);
  bands.at(t, [-1, 0, 7, 29]).forEach((held, x) =>
    assert.equal(
      held.reduce((sum, one) => sum + one, 0),
      [0, ...[0, 7, 29].map((i) => t.total[i])][x],
    ),
  );
});
