// Names at lines' ends and words at points keep apart; a key keeps one of its lines. Without a page.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { runInThisContext } from "node:vm";

const ROOT = new URL("../../", import.meta.url);
const read = (path) => readFileSync(new URL(path, ROOT), "utf8");
globalThis.BytesInMotion = {};
for (const name of ["ends", "points", "key"]) runInThisContext(read(`assets/charts/${name}.js`));
const { ends, points, key } = BytesInMotion;

// Any numbers, the same on every run.
function some(seed) {
  let state = seed;
  return (low, high) => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return low + ((high - low) * state) / 2 ** 31;
  };
}

const overlaps = (boxes) =>
  boxes.flatMap((a, i) =>
    boxes
      .slice(i + 1)
      .filter(
        (b) => a.x < b.x + b.w - 1e-6 && b.x < a.x + a.w - 1e-6 && a.y < b.y + b.h - 1e-6 && b.y < a.y + a.h - 1e-6,
      ),
  );

test("a name stays at its line's end where there is room", () => {
  assert.deepEqual(ends.apart([50, 100, 200], [10, 10, 20], [0, 300]), [45, 95, 190]);
  assert.deepEqual(ends.apart([], [], [0, 300]), []);
});

test("names that want one place share it, in their order, and none leaves the picture", () => {
  assert.deepEqual(ends.apart([100, 100], [10, 10], [0, 300], 2), [89, 101]);
  assert.deepEqual(ends.apart([2, 1], [10, 10], [0, 300], 2), [12, 0]);
  assert.deepEqual(ends.apart([299, 298], [10, 10], [0, 300], 2), [290, 278]);
});

test("whatever is wanted, names lie under each other, by their lines' ends, inside", () => {
  const any = some(7);
  for (let turn = 0; turn < 400; turn++) {
    const many = 1 + Math.floor(any(0, 6));
    const wanted = Array.from({ length: many }, () => any(-20, 320));
    const heights = wanted.map(() => (any(0, 1) < 0.5 ? 15 : 30));
    const tops = ends.apart(wanted, heights, [0, 300]);
    const order = tops.map((_, i) => i).sort((a, b) => tops[a] - tops[b]);
    order.slice(1).forEach((i, k) => {
      const above = order[k];
      assert.ok(tops[i] >= tops[above] + heights[above] + 2 - 1e-9);
      assert.ok(wanted[i] >= wanted[above]);
    });
    assert.ok(Math.min(...tops) >= -1e-9 && Math.max(...tops.map((top, i) => top + heights[i])) <= 300 + 1e-9);
  }
});

test("a long name is broken at spaces and behind hyphens", () => {
  const widthOf = (text) => 7 * text.length;
  assert.deepEqual(ends.broken("ring, recorded", 200, widthOf), ["ring, recorded"]);
  assert.deepEqual(ends.broken("recursive-doubling, prediction", 84, widthOf), [
    "recursive-",
    "doubling,",
    "prediction",
  ]);
});

const area = { x: 0, y: 0, w: 300, h: 240 };

test("words keep off lines across the chart, and no hairline runs through other words", () => {
  const line = Array.from({ length: 60 }, (_, i) => ({ x: 5 * i, y: 88 }));
  const [word] = points.settled([{ x: 150, y: 100, w: 40, h: 13, wanted: [0, -1] }], area, [], line);
  assert.ok(word.y > 88 || word.y + word.h < 88, "not where it is wanted: there is the line");
  const [name, wall] = [
    { x: 100, y: 70, w: 100, h: 13 },
    { x: 158, y: 93, w: 22, h: 4 },
  ];
  const narrow = { x: 128, y: 40, w: 172, h: 68 };
  const [moved] = points.settled([{ x: 150, y: 100, w: 40, h: 13, wanted: [0, -1] }], narrow, [name, wall]);
  assert.ok(moved.x > 180, "not over the name, though there is room: beside it");
});

test("words at points lie on no other word while there is room", () => {
  const any = some(3);
  for (let turn = 0; turn < 60; turn++) {
    const crowd = Array.from({ length: 6 }, () => ({
      x: any(60, 240),
      y: any(40, 200),
      w: 50,
      h: 13,
      wanted: [0, -1],
    }));
    assert.deepEqual(overlaps(points.settled(crowd, area)), []);
  }
  const [over] = points.settled([{ x: 150, y: 100, w: 40, h: 13, wanted: [1, 0] }], area);
  assert.ok(over.x > 150 && Math.abs(over.y + over.h / 2 - 100) < 1e-9, "where it is wanted, if that is free");
  const [edge] = points.settled([{ x: 290, y: 100, w: 40, h: 13, wanted: [1, 0] }], area);
  assert.ok(edge.x + edge.w <= 300, "never over the edge");
});

test("a key takes one away and brings it back, and one stays", () => {
  const [names, hidden] = [["a", "b", "c"], new Set()];
  assert.ok(key.turned("a", names, hidden) && key.turned("b", names, hidden));
  assert.ok(!key.turned("c", names, hidden));
  assert.deepEqual([...hidden], ["a", "b"]);
  assert.ok(key.turned("a", names, hidden) && key.turned("c", names, hidden));
  assert.deepEqual([...hidden], ["b", "c"]);
});

// Every chart of every lab, as it is saved.
const charts = readdirSync(new URL("notebooks/", ROOT))
  .filter((name) => name.endsWith(".ipynb"))
  .flatMap((name) => JSON.parse(read(`notebooks/${name}`)).cells.map((cell) => [name.split(".")[0], cell]))
  .flatMap(([name, { outputs = [] }]) =>
    outputs.flatMap(({ data = {} }) => {
      const figure = data["application/vnd.plotly.v1+json"];
      return figure ? [[name, figure, ends.parted(figure)]] : [];
    }),
  );
const namesAt = (figure, indexes) => indexes.map((i) => figure.data[i].name);

test("names stand at most six at the ends of lines, else in a key, and in one of both", () => {
  assert.ok(charts.length > 25);
  for (const [, , { ends: at, keys }] of charts) {
    assert.ok(at.length <= 6);
    assert.deepEqual(
      at.filter((i) => keys.includes(i)),
      [],
    );
  }
  const many = charts.filter(([name, , { ends: at, keys }]) => name === "trees" && keys.length === 7 && !at.length);
  assert.equal(many.length, 1);
  assert.ok(charts.some(([name, , { ends: at, keys }]) => name === "ring" && at.length === 4 && !keys.length));
});

test("no key takes a roof away", () => {
  const roofs = charts.filter(([name]) => name === "roofline");
  assert.equal(roofs.length, 4);
  for (const [, figure, { ends: at, keys }] of roofs) {
    assert.deepEqual(
      at.map((i) => figure.data[i].text.includes("ridge")),
      [true],
    );
    assert.ok(namesAt(figure, keys).every((kind) => ["prediction", "recorded", "measurement"].includes(kind)));
  }
});
