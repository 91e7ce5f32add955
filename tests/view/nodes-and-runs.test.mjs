// Nodes, two algorithms on one clock, recorded runs: the pure parts.
import assert from "node:assert/strict";
import { words } from "../../helpers/view/player/panel/words.mjs";
import { decode, encode, python } from "../../helpers/view/player/state/link.mjs";
import { differs, mentioned } from "../../helpers/view/player/state/offers.mjs";
import { filled } from "../../helpers/view/player/state/session.mjs";
import { together } from "../../helpers/view/player/state/together.mjs";
import { layout } from "../../helpers/view/shared/drawing/layout.mjs";
import { NIC } from "../../helpers/view/shared/drawing/nodes.mjs";
import { choose, nodeSizes } from "../../helpers/view/shared/schedules/choices.mjs";
import { carried, loadText } from "../../helpers/view/shared/schedules/load.mjs";
import { compute } from "../../helpers/view/shared/schedules/model.mjs";
import { price } from "../../helpers/view/shared/schedules/price.mjs";
import { parse } from "../../helpers/view/shared/schedules/schedule.mjs";
import { idle, modelled, recorded } from "../../helpers/view/shared/schedules/timeline.mjs";
import { test } from "node:test";

const LINK = { alpha: 1, bandwidth: 8, name: "test" };
const ACROSS = { alpha: 2, bandwidth: 4, name: "far" };
const pairs = (n) => Array.from({ length: n }, (_, r) => `0:${r}→${(r + 1) % n}`).join(" ");
const of = (n, steps) => parse(`all_reduce some nranks=${n} nchunks=1 root=-\n${steps}`);

const catalogue = [
  { collective: "all_reduce", algorithm: "ring", rooted: false, switched: false, nranks: [2, 4, 6, 8], nchunks: null },
  {
    collective: "all_reduce",
    algorithm: "hierarchical",
    rooted: false,
    switched: false,
    nranks: [2, 4, 6, 8],
    nchunks: null,
    gpus: { 2: [1, 2], 4: [1, 2, 4], 6: [1, 2, 3, 6], 8: [1, 2, 4, 8] },
  },
  {
    collective: "all_reduce",
    algorithm: "nvls",
    rooted: false,
    switched: true,
    nranks: [2, 4, 6, 8],
    nchunks: null,
    slices: { 4: [1, 2, 16], 8: [1, 2, 4] },
    pays: {
      4: [
        [4, 2.5],
        [5, 2],
        [19, 1],
      ],
      8: [
        [4, 2.25],
        [5, 2],
        [7, 1.75],
      ],
    },
  },
  { collective: "broadcast", algorithm: "flat", rooted: true, switched: false, nranks: [2, 4, 6, 8], nchunks: null },
];
const links = [
  { slug: "a", alpha: 1, bandwidth: 8 },
  { slug: "b", alpha: 100, bandwidth: 8 },
  { slug: "nvlink-4", alpha: 1, bandwidth: 8 },
];
const ring = {
  collective: "all_reduce",
  algorithm: "ring",
  nranks: 8,
  root: null,
  nchunks: null,
  nbytes: 5,
  link: "a",
};

test("nodes stay where they fit, shrink where they must, and a switch has none", () => {
  const nodes = { gpus: 4, across: "b", nics: 2 };
  assert.deepEqual(choose(catalogue, ring, nodes), { ...ring, ...nodes });
  assert.deepEqual(choose(catalogue, { ...ring, ...nodes }, { nranks: 6 }), { ...ring, ...nodes, nranks: 6, gpus: 3 });
  assert.deepEqual(choose(catalogue, { ...ring, ...nodes }, { nranks: 2 }), { ...ring, nranks: 2 });
  assert.deepEqual(choose(catalogue, { ...ring, ...nodes }, { algorithm: "nvls" }, links), {
    ...ring,
    algorithm: "nvls",
    slices: 1,
  });
  assert.deepEqual(choose(catalogue, { ...ring, ...nodes }, { gpus: null }), ring);
  assert.deepEqual(nodeSizes(12), [2, 3, 4, 6]);
});

test("an algorithm of nodes has them on one link too", () => {
  assert.deepEqual(choose(catalogue, ring, { algorithm: "hierarchical" }), {
    ...ring,
    algorithm: "hierarchical",
    gpus: 4,
  });
  assert.deepEqual(choose(catalogue, ring, { algorithm: "hierarchical", gpus: 2, across: "b" }), {
    ...ring,
    algorithm: "hierarchical",
    gpus: 2,
    across: "b",
  });
});

test("the other algorithm is looked up on the same ranks; none with itself, none from another root", () => {
  const rival = (change) => choose(catalogue, ring, { rival: { algorithm: "hierarchical" }, ...change }).rival;
  assert.deepEqual(rival({}), {
    collective: "all_reduce",
    algorithm: "hierarchical",
    nranks: 8,
    root: null,
    nchunks: null,
    gpus: 4,
  });
  assert.equal(rival({ gpus: 2, across: "b" }).gpus, 2);
  assert.equal(rival({ algorithm: "hierarchical" }), undefined);
  assert.equal(rival({ collective: "broadcast" }), undefined);
  assert.equal(choose(catalogue, ring, { rival: { algorithm: "nvls" }, gpus: 2, across: "b" }).rival, undefined);
});

test("at first sight the ranks and the size can be chosen, and what the author set", () => {
  const offers = (change) => mentioned({ ...ring, link: "nvlink-4", ...change }).filter(Boolean);
  const always = ["Number of ranks", "Size"];
  assert.deepEqual(offers({}), always);
  const more = (change) => offers(change).filter((name) => !always.includes(name));
  assert.deepEqual(more({ link: "a" }), ["Network"]);
  assert.deepEqual(more({ gpus: 4, across: "b" }), ["Nodes", "Network between nodes", "NICs per node"]);
  assert.deepEqual(more({ algorithm: "hierarchical", gpus: 4 }), ["Nodes"]);
  assert.deepEqual(more({ algorithm: "nvls", slices: 2 }), ["Number of slices"]);
  assert.deepEqual(more({ nchunks: 8, rival: { algorithm: "flat" } }), ["Number of chunks", "Compared with"]);
  assert.deepEqual(more({ link: "recorded", recorded: {} }), []);
});

test("another step is the same state of choices, another size is not", () => {
  assert.equal(differs({ ...ring, step: 3, gpus: undefined }, ring), false);
  assert.equal(differs({ ...ring, nbytes: 6 }, ring), true);
  assert.equal(differs({ ...ring, rival: { algorithm: "flat" } }, ring), true);
});

test("slices are the cheapest for the size and the link, and a reader's choice stays", () => {
  const nvls = choose(catalogue, ring, { algorithm: "nvls" }, links);
  assert.equal(nvls.slices, 1);
  const long = choose(catalogue, nvls, { nbytes: 400 }, links);
  assert.equal(long.slices, 4);
  assert.equal(choose(catalogue, long, { link: "b" }, links).slices, 1);
  assert.equal(
    choose(catalogue, long, { nranks: 4, nbytes: 4000 }, links).slices,
    2,
    "never more than the slots of NCCL's buffers",
  );
  const own = choose(catalogue, long, { slices: 2 }, links);
  assert.equal(choose(catalogue, own, { nbytes: 5 }, links).slices, 2);
  assert.equal(choose(catalogue, ring, { rival: { algorithm: "nvls" }, nbytes: 400 }, links).rival.slices, 4);
});

test("a link from before there were slices opens in one", () => {
  const old = "#player-0--collective-all_reduce--algorithm-nvls--link-a--nranks-8--nbytes-400--step-0";
  assert.equal(filled(decode(old, 0), ring, { catalogue, links }).slices, 1);
  assert.equal(filled(decode(`${old}--slices-4`, 0), ring, { catalogue, links }).slices, 4);
});

test("what leaves its node pays the other link, and shared NICs take turns", () => {
  const s = of(4, "0:0→2 0:1→3\n0:0→1");
  const seconds = (link) => price(s, 16, link, 1).steps.map((step) => step.seconds);
  assert.deepEqual(seconds(LINK), [3, 3]);
  assert.deepEqual(seconds({ ...LINK, gpus: 2, across: ACROSS }), [6, 3]);
  assert.deepEqual(seconds({ ...LINK, gpus: 2, across: ACROSS, nics: 1 }), [10, 3]); // 2 + two times 4
});

test("links and NICs add up what they carried", () => {
  const s = of(4, "0:0→2 0:1→3\n0:0→1\n0:0→2");
  const link = { ...LINK, gpus: 2, across: ACROSS, nics: 1 };
  const view = { schedule: s, link, cost: price(s, 16, link, 1) };
  const { links, nics } = carried(view, 3);
  assert.deepEqual(
    links.map(({ src, dst, bytes, away }) => [src, dst, bytes, away]),
    [
      [0, 2, 32, true],
      [1, 3, 16, true],
      [0, 1, 16, false],
    ],
  );
  assert.deepEqual(
    [...nics],
    [
      ["0,0", [48, 0]],
      ["1,0", [0, 48]],
    ],
  );
  assert.equal(loadText(view, 3), "Most so far: link 0 to 2 carried 32 B; a NIC sent 48 B.");
  assert.equal(loadText(view, 0), "Nothing has moved yet.");
});

test("every rank, NIC and path of nodes lies inside the picture", () => {
  for (let nranks = 4; nranks <= 16; nranks++)
    for (const gpus of nodeSizes(nranks))
      for (const [width, height] of [
        [280, 240],
        [300, 300],
        [400, 300],
        ...(nranks > 9
          ? []
          : [
              [200, 219],
              [148, 220],
            ]), // of two schedules
      ]) {
        const s = of(nranks, pairs(nranks));
        const map = layout(s, width, height, { ...LINK, gpus, across: ACROSS });
        const inside = ({ x, y }) => x >= 0 && x <= width && y >= 0 && y <= height;
        const all = [...map.nodes, ...map.nics, ...s.steps[0].flatMap(({ src, dst }) => map.curve(src, dst))];
        assert.ok(all.every(inside), `${nranks} ranks in nodes of ${gpus}, ${width} wide`);
        assert.equal(map.nics.length, nranks);
        map.nics.forEach((a, i) =>
          map.nics.slice(i + 1).forEach((b) => assert.ok(Math.max(Math.abs(a.x - b.x), Math.abs(a.y - b.y)) >= NIC)),
        );
        map.nodes.forEach((a, i) =>
          map.nodes
            .slice(i + 1)
            .forEach((b) => assert.ok(Math.max(Math.abs(a.x - b.x), Math.abs(a.y - b.y)) >= map.size)),
        );
      }
});

test("a rank that neither sends nor receives is idle; two things at once count once", () => {
  const s = of(3, "0:0→1 0:1→0\n0:0→1");
  const line = modelled(price(s, 16, LINK, 1), 3);
  assert.deepEqual(
    [0, 1, 2].map((rank) => idle(line, rank, 6)),
    [0, 0, 1],
  );
  assert.equal(idle(modelled(price(of(3, "0:0→1\n0:1→2"), 16, LINK, 1), 3), 0, 6), 0.5);
  assert.equal(idle(line, 2, 0), 0);
  assert.equal(idle(modelled(price(of(3, "0:0→1 0:1→0\n0:1→2"), 16, LINK, 1), 3), 0, 6), 0.5);
});

const TREE = "all_reduce binomial nranks=2 nchunks=1 root=-\n0:1⇒0\n0:0→1";
const trace = {
  text: TREE,
  before: [[1], [2]],
  after: [[3], [3]],
  factor: 1,
  promise: "every rank holds its own data",
};
const NS = 1e9;
const run = (ends) => ({
  name: "r",
  label: "2 ranks",
  machine: "",
  date: "2026-01-01",
  source: "replay",
  seconds: ends[1],
  link: LINK,
  messages: [
    [1, 1, 0, 0, ends[0] * NS, 0, ends[0] * NS],
    [2, 0, 1, ends[0] * NS, ends[1] * NS, 0, ends[1] * NS],
  ],
});

test("a step is late when it took over a quarter longer than the model's", () => {
  const cost = price(parse(TREE), 16, LINK, 1); // two steps of 3 s
  const late = (ends) => recorded(run(ends), cost, 2).steps.map((step) => step.late);
  assert.deepEqual(late([3.7, 7.4]), [false, false]); // late by 1.4 s in the end, but no step was
  assert.deepEqual(late([3, 6.8]), [false, true]);
  assert.deepEqual(late([3.8, 6]), [true, false]);
  const { bars, seconds } = recorded(run([3, 6.8]), cost, 2);
  assert.deepEqual(
    bars.map((bar) => bar.late),
    [false, true],
  );
  assert.deepEqual(bars[1].recv, [3, 6.8]); // the receive was posted at 0, the send at 3
  assert.ok(Math.abs(seconds - 6.8) < 1e-9);
});

test("of a late step, only what was not there by then is marked", () => {
  const s = of(4, "0:0→1 0:2→3");
  const real = {
    seconds: 9,
    messages: [
      [1, 0, 1, 0, 3 * NS, 0, 3 * NS],
      [1, 2, 3, 0, 9 * NS, 0, 9 * NS],
    ],
  };
  assert.deepEqual(
    recorded(real, price(s, 16, LINK, 1), 4).bars.map((bar) => bar.late),
    [false, true],
  );
});

test("words put the run beside the model", () => {
  const view = compute(trace, 16, LINK, run([3, 6.8]));
  assert.match(words([view], [0], 0).text, /By the model it takes 6 s; the run took 6.8 s\.$/);
  assert.match(words([view], [1], 3).text, /By the model this step is over after 3 s; in the run it was after 3 s\.$/);
  assert.match(
    words([view], [2], 6).text,
    /Late: it took 3.8 s, 1.3 times the model's; last came what rank 0 sent to rank 1\.$/,
  );
});

test("two on one clock: it stops where either ends a step, and says who has come how far", () => {
  const slow = { ...trace, text: TREE.replace("binomial", "slow").replace("0:0→1", "0:0→1\n0:0→1\n0:0→1") };
  const views = [trace, slow].map((one) => compute(one, 16, LINK));
  const clock = together(views.map(({ line }) => line));
  assert.equal(clock.last, 4);
  assert.deepEqual([0, 1, 2, 3, 4].map(clock.at), [
    [0, 0],
    [1, 1],
    [2, 2],
    [2, 3],
    [2, 4],
  ]);
  assert.ok(Math.abs(clock.from(1, 3) - 3) < 1e-9);
  const at = (p) => words(views, clock.at(p), clock.seconds(p));
  assert.match(at(0).text, /binomial needs 6 s in 2 steps; slow needs 12 s in 4 steps\.$/);
  assert.deepEqual(at(1), {
    lead: "At 3 s",
    text: "binomial has done 1 of 2 steps; slow has done 1 of 4 steps.",
    end: "",
  });
  assert.equal(at(3).text, "binomial is done, after 6 s; slow has done 3 of 4 steps.");
  assert.equal(at(4).end, "Done: both promises are kept; binomial was first, and slow took 12 s, 2.00 times as long.");
});

test("links and Python cells carry nodes, slices, the other algorithm and the run", () => {
  const base = { ...ring, nranks: 4 };
  const round = (spec, from = base) => filled(decode(encode({ ...spec, step: 1 }, 0), 0), from, { catalogue, links });
  for (const change of [
    { gpus: 4, across: "b", nics: 2 },
    { algorithm: "nvls", slices: 2 },
    { algorithm: "hierarchical", gpus: 2 },
    { rival: { algorithm: "nvls" } },
  ]) {
    const spec = choose(catalogue, ring, change, links);
    assert.deepEqual(round(spec), spec);
  }
  const spec = choose(catalogue, ring, { gpus: 2, across: "b", rival: { algorithm: "hierarchical" } });
  assert.equal(
    python(spec, {}).text,
    'from helpers.view import player\n\nplayer("all_reduce ring", nranks=8, gpus=2, nbytes=5, link="a", across="b", versus="hierarchical")',
  );
  const played = { ...base, link: "recorded", recorded: run([3, 6]) };
  assert.equal(encode({ ...played, view: "slots", step: 2 }, 0), "#player-0--view-slots--step-2");
  assert.equal(round(played, played), played);
  assert.match(python(played, {}).text, /player\("all_reduce ring", nranks=4, recorded="r"\)$/);
  assert.equal(round({ ...ring }, played).link, "a");
});
