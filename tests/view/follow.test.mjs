// Links and a kernel's specs are followed or refused, and what a change came to is said once it stands still.
import assert from "node:assert/strict";
import { follow, landed } from "../../helpers/view/shared/page/lifecycle.mjs";
import { test } from "node:test";

// A widget that counts: one number, at most 9, in a link "#n-NUMBER".
function counter({ live = false, hash = "" } = {}) {
  const heard = {};
  const hear = (event, f) => Object.assign(heard, { [event]: f });
  const forget = (event, f) => {
    assert.equal(heard[event], f);
    delete heard[event];
  };
  globalThis.location = { hash };
  globalThis.window = { addEventListener: hear, removeEventListener: forget };
  const model = {
    spec: { n: 0 },
    saved: [],
    get: () => model.spec,
    set: (_, spec) => model.saved.push(spec),
    save_changes: () => model.saved.push("saved"),
    on: hear,
    off: forget,
  };
  const parts = { said: {}, notice: {}, one: { textContent: "One" }, two: { textContent: "and two." } };
  return { model, live, index: 0, s: { n: 0 }, parts, heard, shown: [] };
}

const how = {
  decode: (hash) => (hash.startsWith("#n-") ? { n: Number(hash.slice(3)) } : null),
  fits: ({ n }) => n <= 9,
  show: (widget, spec) => {
    widget.s = spec;
    widget.shown.push(spec.n);
  },
};

test("a link is followed at once and whenever the address changes, and one about something else is not looked at", () => {
  const widget = counter({ hash: "#n-4" });
  follow(widget, how);
  for (const hash of ["#else", "#n-5"]) {
    globalThis.location.hash = hash;
    widget.heard.hashchange();
  }
  assert.deepEqual(widget.shown, [4, 5]);
  assert.equal(widget.parts.notice.textContent, undefined);
});

test("a link that does not fit is refused in words, and what stands there stays", () => {
  const [widget, other] = [counter({ hash: "#n-10" }), counter({ hash: "#n-10" })];
  follow(widget, how);
  follow(other, { ...how, unfit: "is too much" });
  assert.deepEqual([widget.shown, other.shown], [[], []]);
  assert.equal(widget.parts.notice.textContent, "This link asks for something that cannot be drawn.");
  assert.equal(other.parts.notice.textContent, "This link asks for something that is too much.");
});

test("beside a kernel no link is followed; its spec is, unless it is on show", () => {
  const widget = counter({ live: true, hash: "#n-4" });
  follow(widget, how);
  for (const n of [0, 7, 7]) {
    widget.model.spec = { n };
    widget.heard["change:spec"]();
  }
  assert.deepEqual(widget.shown, [7]);
});

test("what is on show may be more than the state", () => {
  const widget = counter({ live: true });
  widget.whole = () => ({ n: 8 });
  follow(widget, how);
  widget.model.spec = { n: 8 };
  widget.heard["change:spec"]();
  landed(widget, [], 0);
  assert.deepEqual([widget.shown, widget.model.saved], [[], [{ n: 8 }, "saved"]]);
});

test("a kernel is told of every change, a screen reader of the last", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const widget = counter({ live: true });
  const { one, two, said } = widget.parts;
  landed(widget, [one, two]);
  t.mock.timers.tick(399);
  widget.s = { n: 1 };
  landed(widget, [one, two]);
  t.mock.timers.tick(399);
  assert.equal(said.textContent, undefined);
  one.textContent = "Now one";
  t.mock.timers.tick(1);
  assert.equal(said.textContent, "Now one and two.");
  assert.deepEqual(widget.model.saved, [{ n: 0 }, "saved", { n: 1 }, "saved"]);
});

test("without a wait it is said at once, and without a kernel nobody else is told", () => {
  const widget = counter();
  landed(widget, [widget.parts.two], 0);
  assert.equal(widget.parts.said.textContent, "and two.");
  assert.deepEqual(widget.model.saved, []);
});

test("the end takes away listeners, what waits, and what else was to end", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const widget = counter();
  const ended = [];
  const end = follow(widget, how, ...["drawing", "clock"].map((one) => () => ended.push(one)));
  landed(widget, [widget.parts.one]);
  end();
  t.mock.timers.tick(1000);
  assert.equal(widget.parts.said.textContent, undefined);
  assert.deepEqual([Object.keys(widget.heard), ended], [[], ["drawing", "clock"]]);
});
