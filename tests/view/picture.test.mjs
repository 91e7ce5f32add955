import assert from "node:assert/strict";
import { kindOf, LEFT, rooms } from "../../helpers/view/player/panel/rooms.mjs";
import { slotRows } from "../../helpers/view/shared/drawing/cell.mjs";
import { evenly, radii } from "../../helpers/view/shared/drawing/ellipse.mjs";
import { along, figures, layout, links, shape } from "../../helpers/view/shared/drawing/layout.mjs";
import { memoryHeight, namedEvery } from "../../helpers/view/shared/drawing/memory.mjs";
import { timeHeight } from "../../helpers/view/shared/drawing/time.mjs";
import { columns, inside, owed, slotState } from "../../helpers/view/shared/schedules/cells.mjs";
import { choose } from "../../helpers/view/shared/schedules/choices.mjs";
import { keepStep, positionAt, ticks, timeAt } from "../../helpers/view/shared/schedules/model.mjs";
import { messages } from "../../helpers/view/shared/schedules/price.mjs";
import { input, parse, replay, sign, value } from "../../helpers/view/shared/schedules/schedule.mjs";
import { test } from "node:test";

const of = (nranks, steps, more = "") => parse(`all_reduce some nranks=${nranks} nchunks=1 root=-${more}\n${steps}`);
const ring = (n) => of(n, Array.from({ length: n }, (_, r) => `0:${r}→${(r + 1) % n}`).join(" "));

test("the picture's shape is told from the links", () => {
  assert.equal(shape(ring(5)).kind, "ring");
  assert.equal(shape(of(4, "0:1⇒0 0:3⇒2\n0:2⇒0")).kind, "layers");
  assert.equal(shape(of(6, "0:1⇒0\n0:2⇒0\n0:3⇒0\n0:4⇒0\n0:5⇒0")).kind, "star");
  assert.equal(shape(of(4, "0:0⇒2 0:2⇒0 0:1⇒3 0:3⇒1\n0:0⇒1 0:1⇒0 0:2⇒3 0:3⇒2")).kind, "circle");
  assert.equal(shape(of(3, "0:0⇒3 0:1⇒3", " nswitches=1")).kind, "circle");
});

test("a link is drawn once for each direction", () => {
  assert.deepEqual(links(of(3, "0:0⇒1\n0:1→0\n0:0→1")), [
    [0, 1],
    [1, 0],
  ]);
});

test("every rank stands inside the picture, and no two overlap", () => {
  for (const nranks of [2, 3, 8, 16])
    for (const [width, height] of [
      [280, 250],
      [340, 300],
      [309, 170],
      [309, nranks > 8 ? 220 : 138],
      [200, 422],
    ]) {
      const { nodes, size } = layout(ring(nranks), width, height);
      for (const { x, y } of nodes)
        assert.ok(x >= size / 2 && x <= width - size / 2 && y >= size / 2 && y <= height - size / 2);
      nodes.forEach((a, i) =>
        nodes.slice(i + 1).forEach((b) => assert.ok(Math.hypot(a.x - b.x, a.y - b.y) >= size, `${nranks} ranks`)),
      );
    }
});

test("up to nine places fit one screen with their transport bar, side by side and stacked", () => {
  for (const n of [2, 3, 4, 5, 6, 7, 8, 9])
    for (const kind of ["wide", "stacked"]) {
      const view = { places: n, schedule: ring(n), link: {} };
      const { row, lane, topology } = rooms(view, kindOf([view]), kind === "wide");
      const memory = memoryHeight(n, row);
      const all = (kind === "wide" ? Math.max(memory, topology) : memory + topology) + timeHeight(n, lane);
      assert.ok(all <= LEFT[kind], `${n} places, ${kind}: ${all}`);
    }
});

test("however many places there are, their numbers stay legible", () => {
  for (const places of [2, 4, 8, 9, 16, 17, 32])
    for (const wide of [true, false])
      for (const kinds of [["one", "many"], ["real"], ["two", "crowd"]]) {
        const view = { places, schedule: ring(places), link: {}, real: kinds[0] === "real" && {} };
        const kind = kindOf(kinds[0] === "two" ? [view, view] : [view]);
        assert.ok(kinds.includes(kind) || places > 9);
        const { row, lane, topology } = rooms(view, kind, wide);
        assert.ok(row >= 13 && lane >= 11 && topology >= 88, `${places} places, ${kind}: ${row}, ${lane}, ${topology}`);
      }
});

test("in a flat picture a tree grows to the right", () => {
  const tree = of(8, "0:0→4\n0:0→2 0:4→6\n0:0→1 0:2→3 0:4→5 0:6→7");
  const { kind, nodes, size } = layout(tree, 309, 150);
  assert.equal(kind, "layers");
  for (const [from, to] of links(tree)) assert.ok(nodes[to].x - nodes[from].x > 1.5 * size);
  assert.ok(Math.max(...nodes.map(({ y }) => y)) <= 150 - size / 2);
});

test("points on an ellipse are alike far from each other", () => {
  const [rx, ry] = radii(130, 50);
  assert.deepEqual([rx, ry, radii(100, 90), radii(40, 400)], [130, 50, [90, 90], [40, 104]]);
  const points = evenly(16, rx, ry, -Math.PI / 2).map((angle) => [rx * Math.cos(angle), ry * Math.sin(angle)]);
  const far = points.map(([x, y], i) => Math.hypot(x - points[(i + 1) % 16][0], y - points[(i + 1) % 16][1]));
  assert.ok(Math.max(...far) / Math.min(...far) < 1.15, `${far}`);
});

test("many slots stand in rows, in which each is seen; few in one", () => {
  assert.deepEqual(
    [slotRows(4, 60, 36), slotRows(8, 26, 14), slotRows(16, 14.75, 17), slotRows(16, 14, 5), slotRows(8, 40, 20)],
    [1, 2, 4, 1, 1],
  );
});

test("names of columns keep apart, whatever their digits", () => {
  assert.deepEqual([namedEvery(38, 1), namedEvery(16, 2), namedEvery(9, 2), namedEvery(9, 3)], [1, 2, 4, 4]);
});

test("what is no rank has a sign of its own", () => {
  const head = (nranks, nswitches) => of(nranks, "", ` nswitches=${nswitches}`);
  assert.deepEqual([sign(head(4, 1), 3), sign(head(4, 1), 4)], ["3", "S"]);
  assert.deepEqual([sign(head(16, 3), 18), sign(head(4, 4), 6)], ["S2", "R2"]);
});

test("a chunk travels from sender to receiver, clear of both squares", () => {
  const map = layout(ring(4), 280, 260);
  const points = map.curve(0, 1);
  const far = (p, rank) => Math.hypot(p.x - map.nodes[rank].x, p.y - map.nodes[rank].y);
  assert.ok(far(along(points, 0), 0) < far(along(points, 0), 1));
  assert.ok(far(along(points, 1), 1) < far(along(points, 1), 0));
  for (const p of points) assert.ok(far(p, 0) > map.size / 2 && far(p, 1) > map.size / 2);
});

test("the two directions of a pair do not lie on each other", () => {
  const map = layout(of(2, "0:0→1\n0:1→0"), 280, 220);
  assert.ok(Math.abs(along(map.curve(0, 1), 0.5).y - along(map.curve(1, 0), 0.5).y) > map.size);
});

test("one message per pair of ranks, whatever the chunks", () => {
  const s = parse("all_gather x nranks=2 nchunks=4 root=-\n0:0→1 1:0→1 2:1→0");
  assert.deepEqual(
    messages(s.steps[0]).map((m) => [m.src, m.dst, m.chunks]),
    [
      [0, 1, [0, 1]],
      [1, 0, [2]],
    ],
  );
});

test("slots say empty, full, double, missing", () => {
  assert.equal(slotState(0, 1, false), "empty");
  assert.equal(slotState(1, 1, true), "full");
  assert.equal(slotState(2, 1, false), "double");
  assert.equal(slotState(0, 1, true), "missing");
  assert.equal(slotState(0, -1, true), "empty");
  assert.equal(slotState(1, 0, true), "double");
});

test("all_to_all shows senders as columns, everything else chunks; strays get a slot", () => {
  const gather = parse("all_gather x nranks=2 nchunks=2 root=-\n0:0⇒1");
  const run = replay(gather, [
    [1, 0],
    [0, 2],
  ]);
  assert.deepEqual(
    columns(
      gather,
      [
        [1, 2],
        [1, 2],
      ],
      run,
    ).map((c) => c.slots.map((s) => s.origin)),
    [[0], [1]],
  );
  const stray = parse("all_gather x nranks=2 nchunks=2 root=-\n1:1⇒0");
  assert.deepEqual(
    columns(
      stray,
      [
        [1, 2],
        [1, 2],
      ],
      replay(stray, [
        [1, 1],
        [0, 2],
      ]),
    ).map((c) => c.slots.map((s) => s.origin)),
    [[0], [0, 1]],
  );
  const direct = columns({ collective: "all_to_all", nranks: 2 }, [], null);
  assert.deepEqual(
    direct.map((c) => c.slots.map((s) => [s.chunk, s.origin, s.mark])),
    [
      [
        [0, 0, 0],
        [1, 0, 1],
      ],
      [
        [2, 1, 0],
        [3, 1, 1],
      ],
    ],
  );
});

test("words for a table say who is inside and how often", () => {
  const s = of(2, "0:0⇒1\n0:0⇒1");
  const run = replay(s, [[1], [2]]);
  const [column] = columns(s, [[3], [3]], run);
  assert.equal(inside(run, 1, 1, column), "0+1");
  assert.equal(inside(run, 2, 1, column), "0 (2 times)+1");
  assert.equal(owed([[3], [-1]], 0, column.slots[1]), 1);
  assert.equal(owed([[3], [-1]], 1, column.slots[1]), -1);
});

test("numbers are the sums of the inputs", () => {
  const s = of(2, "0:0⇒1");
  const run = replay(s, [[1], [2]]);
  assert.equal(value(run.counts(1, 1, 0), 0), input(0, 0) + input(1, 0));
  assert.equal(value(new Int32Array(2), 0), null);
});

test("a time and a position in steps are two ways to say one thing", () => {
  const cost = {
    steps: [
      { start: 0, seconds: 2 },
      { start: 2, seconds: 6 },
    ],
    seconds: 8,
  };
  for (const [seconds, position] of [
    [0, 0],
    [1, 0.5],
    [2, 1],
    [5, 1.5],
    [8, 2],
  ]) {
    assert.equal(positionAt(cost, seconds), position);
    assert.equal(timeAt(cost, position), seconds);
  }
});

test("another schedule keeps the step's meaning", () => {
  assert.deepEqual([keepStep(0, 6, 14), keepStep(6, 6, 14), keepStep(3, 6, 14), keepStep(2, 0, 5)], [0, 14, 7, 0]);
});

test("an axis has round numbers", () => {
  assert.deepEqual(ticks(320, 6), [0, 100, 200, 300]);
  assert.deepEqual(ticks(0, 6), [0]);
  assert.ok(ticks(9.99, 6).length <= 7);
});

test("a choice keeps what the new schedule can take", () => {
  const catalogue = [
    { collective: "all_reduce", algorithm: "ring", rooted: false, nranks: [2, 4, 8], nchunks: null },
    { collective: "broadcast", algorithm: "flat", rooted: true, nranks: [2, 4, 8], nchunks: null },
    { collective: "broadcast", algorithm: "ring", rooted: true, nranks: [2, 4, 8], nchunks: [1, 2, 4] },
  ];
  const spec = {
    collective: "all_reduce",
    algorithm: "ring",
    nranks: 8,
    root: null,
    nchunks: null,
    nbytes: 5,
    link: "x",
  };
  const next = choose(catalogue, spec, { collective: "broadcast" });
  assert.deepEqual(next, { ...spec, collective: "broadcast", root: 0, nchunks: 4 });
  assert.equal(choose(catalogue, next, { algorithm: "flat" }).nchunks, null);
  assert.equal(choose(catalogue, { ...next, root: 7 }, { nranks: 2 }).root, 1);
});

test("figures on links lie on no rank and on no other figure, or there are none", () => {
  const trees = of(4, "0:1⇒0 0:3⇒2\n0:2⇒0\n0:0→2\n0:0→1 0:2→3");
  const told = [];
  for (const [s, width, height] of [
    [ring(4), 340, 240],
    [ring(8), 200, 229],
    [trees, 340, 240],
    [trees, 160, 140],
  ]) {
    const map = layout(s, width, height);
    const paths = links(s).map(([src, dst]) => map.curve(src, dst));
    const found = figures(
      paths.map(() => "1.75 MiB"),
      paths,
      map,
    );
    const boxes = [...map.nodes.map(({ x, y }) => ({ x, y, w: map.size, h: map.size })), ...found];
    found.forEach((a, i) =>
      boxes
        .filter((_, k) => k !== map.nodes.length + i)
        .forEach((b) =>
          assert.ok(Math.abs(a.x - b.x) * 2 >= a.w + b.w || Math.abs(a.y - b.y) * 2 >= a.h + b.h, `${width} px`),
        ),
    );
    told.push(found.length);
  }
  assert.deepEqual(told, [4, 0, 6, 0]);
});
