// Questions and answers: what comes from a kernel or a page is shown only when it is what was asked for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { session } from "../../helpers/view/player/state/session.mjs";

const LINKS = [{ slug: "a", name: "A", alpha: 1, bandwidth: 8 }];
const spec = { collective: "broadcast", algorithm: "flat", nranks: 2, root: 0, nchunks: null, nbytes: 8, link: "a" };
const asked = { ...spec, rival: { ...spec, algorithm: "binomial" } };
const trace = (algorithm, nranks = 2) => ({
  text: `broadcast ${algorithm} nranks=${nranks} nchunks=1 root=0\n0:0→1`,
  before: Array.from({ length: nranks }, (_, r) => [r ? 0 : 1]),
  after: Array.from({ length: nranks }, () => [1]),
  factor: 1,
  promise: "",
});

function model(state) {
  const hearers = [];
  return {
    get: (key) => state[key],
    set(key, value) {
      state[key] = value;
      if (key === "trace") hearers.forEach((f) => f());
    },
    on: (event, f) => event === "change:trace" && hearers.push(f),
    off() {},
    save_changes() {},
  };
}

function open() {
  const seen = { shown: 0, errors: [] };
  const kernel = model({ spec, live: true, links: LINKS, catalogue: [], trace: null });
  const talk = session(
    kernel,
    () => {
      seen.shown += 1;
    },
    (text) => seen.errors.push(text),
  );
  return { kernel, talk, seen };
}

test("two algorithms are shown when both have come, and are those that were asked for", () => {
  const { kernel, talk, seen } = open();
  talk.ask(asked, () => 0);
  kernel.set("trace", trace("flat")); // an answer to an earlier question: no rival in it
  kernel.set("trace", { ...trace("flat"), versus: trace("ring") });
  kernel.set("trace", { ...trace("flat", 3), versus: trace("binomial") });
  assert.equal(seen.shown, 0);
  kernel.set("trace", { ...trace("flat"), versus: trace("binomial") });
  assert.equal(seen.shown, 1);
  assert.deepEqual(
    talk.state.views.map(({ schedule }) => schedule.algorithm),
    ["flat", "binomial"],
  );
  assert.deepEqual(seen.errors, []);
});

test("a refusal is said, and nothing is shown", () => {
  const { kernel, talk, seen } = open();
  talk.ask(asked, () => 0);
  kernel.set("trace", { error: "no such schedule" });
  assert.deepEqual(seen, { shown: 0, errors: ["no such schedule"] });
});
