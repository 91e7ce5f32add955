import assert from "node:assert/strict";
import { decode, encode, python } from "../../helpers/view/player/state/link.mjs";
import { filled } from "../../helpers/view/player/state/session.mjs";
import { actionFor } from "../../helpers/view/shared/page/controls.mjs";
import { parse, replay } from "../../helpers/view/shared/schedules/schedule.mjs";
import { chunkText, deeds, phases, sentence } from "../../helpers/view/shared/schedules/sentence.mjs";
import { test } from "node:test";

const RING =
  "all_reduce ring nranks=3 nchunks=3 root=-\n2:0⇒1 0:1⇒2 1:2⇒0\n1:0⇒1 2:1⇒2 0:2⇒0\n0:0→1 1:1→2 2:2→0\n2:0→1 0:1→2 1:2→0";
const TREE = "all_reduce binomial nranks=2 nchunks=1 root=-\n0:1⇒0\n0:0→1";
const OWN = [
  [1, 1, 1],
  [2, 2, 2],
  [4, 4, 4],
];

const catalogue = [{ collective: "all_reduce", algorithm: "ring", nranks: [2, 3, 4], nchunks: null, rooted: false }];
const links = [{ slug: "nvlink-4" }];

test("text that is no schedule is refused with what was expected", () => {
  assert.throws(() => parse("hello"), /first line reads.*got "hello"/);
  assert.throws(() => parse(`${RING}\n0:1-2`), /a transfer is written.*got "0:1-2"/);
});

test("a step that all ranks do alike is said once", () => {
  const s = parse(RING);
  assert.equal(
    deeds(s, s.steps[0]),
    "every rank sends one chunk to the next, which adds it: rank 0 sends chunk 2 to rank 1, and so on",
  );
});

test("a step of one message names everything", () => {
  const s = parse(TREE);
  assert.equal(deeds(s, s.steps[0]), "rank 1 sends its whole buffer to rank 0, which adds it");
  assert.equal(deeds(s, s.steps[1]), "rank 0 sends its whole buffer to rank 1, which keeps it");
});

test("chunks are listed as a reader would", () => {
  const s = { collective: "all_gather", nchunks: 8, nranks: 8 };
  assert.equal(chunkText(s, 0, 1, [2]), "chunk 2");
  assert.equal(chunkText(s, 0, 1, [2, 3]), "chunks 2 and 3");
  assert.equal(chunkText(s, 0, 1, [0, 2, 5]), "chunks 0, 2 and 5");
  assert.equal(chunkText(s, 0, 1, [4, 5, 6, 7]), "chunks 4 to 7");
  assert.equal(chunkText(s, 0, 1, [0, 1, 2, 3, 4, 5, 6, 7]), "all 8 chunks");
  assert.equal(chunkText({ ...s, nchunks: 2 }, 0, 1, [0, 1]), "both chunks");
  assert.equal(chunkText({ collective: "all_to_all", nranks: 3, nchunks: 9 }, 1, 2, [5]), "its chunk for rank 2");
});

test("the halves of an all_reduce are named by where the sums are", () => {
  const ring = parse(RING);
  assert.deepEqual(phases(ring, replay(ring, OWN)), [
    ", reduce-scatter",
    ", reduce-scatter",
    ", all-gather",
    ", all-gather",
  ]);
  const tree = parse(TREE);
  assert.deepEqual(phases(tree, replay(tree, [[1], [2]])), [", reduce", ", broadcast"]);
});

test("the end says whether the promise is kept", () => {
  const s = parse(RING);
  const view = { schedule: s, names: ["", "", "", ""], promise: "every rank holds its own data", last: 4 };
  assert.deepEqual(sentence({ ...view, faults: [] }, 0), {
    lead: "Start",
    text: "Every rank holds its own data.",
    end: "",
  });
  assert.equal(sentence({ ...view, faults: [] }, 4).end, "Done: the promise is kept.");
  const faults = [
    { rank: 1, chunk: 2, lacks: [0], extra: [1, 2] },
    { rank: 2, chunk: 2, lacks: [0], extra: [] },
  ];
  assert.equal(
    sentence({ ...view, faults }, 4).end,
    "Wrong: chunk 2 of rank 1 lacks rank 0 and has rank 1 and 2 too often (2 slots are wrong).",
  );
});

test("a link holds the whole state and comes back as it was", () => {
  const state = {
    collective: "all_reduce",
    algorithm: "ring",
    nranks: 4,
    root: null,
    nchunks: null,
    nbytes: 67108864,
    link: "nvlink-4",
    step: 3,
    view: "numbers",
  };
  const hash = encode(state, 1);
  assert.match(hash, /^#[\w-]+$/);
  const { root, nchunks, ...held } = state;
  assert.deepEqual(decode(hash, 1), held);
  assert.equal(decode(hash, 0), null);
});

test("a link that is broken or asks for what is not there is not followed", () => {
  assert.equal(decode("#player-0--nranks-four", 0), null);
  assert.equal(decode("#player-0--color-red", 0), null);
  assert.equal(decode("#section-2", 0), null);
  const base = {
    collective: "all_reduce",
    algorithm: "ring",
    nranks: 2,
    nchunks: null,
    root: null,
    nbytes: 7,
    link: "nvlink-4",
  };
  const spec = { collective: "all_reduce", algorithm: "ring", nranks: 4, nbytes: 1, link: "nvlink-4" };
  const asked = (change) => filled({ ...spec, ...change }, base, { catalogue, links });
  assert.deepEqual(asked({}), { ...spec, root: null, nchunks: null });
  assert.equal(filled({ step: 3 }, base, { catalogue, links }), base);
  const wrong = [
    { algorithm: "tree" },
    { nranks: 17 },
    { nchunks: 3 },
    { link: "string" },
    { nbytes: Infinity },
    { root: 1 },
    { gpus: 2 },
    { gpus: 3, across: "nvlink-4" },
    { gpus: 2, across: "string" },
    { gpus: 2, across: "nvlink-4", nics: 3 },
    { versus: "ring" },
    { versus: "tree" },
  ];
  for (const change of wrong) assert.equal(asked(change), null, JSON.stringify(change));
});

test("the Python cell says no more than it must", () => {
  const spec = {
    collective: "all_reduce",
    algorithm: "ring",
    nranks: 4,
    root: null,
    nchunks: null,
    nbytes: 67108864,
    link: "nvlink-4",
    step: 0,
  };
  assert.equal(
    python(spec, {}).text,
    'from helpers.view import player\n\nplayer("all_reduce ring", nranks=4, nbytes="64 MiB", link="nvlink-4")',
  );
  assert.match(python({ ...spec, nbytes: 1000, step: 2 }, {}).text, /nbytes=1000, link="nvlink-4", step=2\)$/);
  assert.match(
    python({ nbytes: 1024, link: "pcie-5", step: 0 }, { text: RING }).text,
    /player\("""all_reduce ring nranks=3[^"]+""", nbytes="1 KiB"/,
  );
});

test("keys do what they say, and leave to native controls what they need", () => {
  assert.equal(actionFor(" ", "DIV"), "toggle");
  assert.equal(actionFor("ArrowRight", "DIV"), "forward");
  assert.equal(actionFor("Home", "BUTTON"), "first");
  assert.equal(actionFor(" ", "BUTTON"), null);
  assert.equal(actionFor(" ", "INPUT"), "toggle");
  assert.equal(actionFor("ArrowRight", "INPUT"), null);
  assert.equal(actionFor("ArrowRight", "SELECT"), null);
  assert.equal(actionFor("x", "DIV"), null);
});
