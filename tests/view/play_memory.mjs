// Computes the cases of a JSON file with the widget's own modules; prints what it found as JSON. Driven by test_memory_equal.py.
import { readFileSync } from "node:fs";
import { amount, unitFor } from "../../helpers/view/memory/trace/amounts.mjs";
import { axisOf, columns } from "../../helpers/view/memory/draw/axis.mjs";
import { byLine } from "../../helpers/view/memory/trace/lines.mjs";
import { holders } from "../../helpers/view/memory/panel/holders.mjs";
import { decode, encode } from "../../helpers/view/memory/link.mjs";
import { byLayer, grouped, layerNames, tallest } from "../../helpers/view/memory/trace/parts.mjs";
import { pack } from "../../helpers/view/memory/trace/pack.mjs";
import { receiver } from "../../helpers/view/memory/trace/receive.mjs";
import { openSnapshot } from "../../helpers/view/memory/trace/snapshot.mjs";
import { alive, CLASSES, composition, KINDS, marksOf, unpack } from "../../helpers/view/memory/trace/store.mjs";
import { momentsOf } from "../../helpers/view/memory/panel/telling.mjs";

const { cases, bytes, snapshots, feeds, states } = JSON.parse(readFileSync(process.argv[2], "utf8"));

const eventsOf = (t) =>
  Array.from({ length: t.n }, (_, i) => [
    KINDS[t.kind[i]],
    t.slot[i] < 0 ? -1 : t.ids[t.slot[i]],
    t.slot[i] < 0 ? 0 : t.nbytes[t.slot[i]],
    CLASSES[t.cls[i]],
    t.module[i],
    t.phase[i],
    t.op[i],
    t.micros[i],
  ]);

function play({ packed, at, width, part }) {
  const t = unpack(packed);
  const blocks = alive(t, at);
  const axes = ["events", "seconds"].map((mode) => axisOf(t, mode, part));
  return {
    events: eventsOf(t),
    packed: pack(t),
    byClass: Array.from({ length: t.n }, (_, i) => composition(t, i)),
    total: t.total,
    peak: t.peak,
    marks: marksOf(t),
    moments: momentsOf(t, Infinity),
    alive: blocks.map(({ id, nbytes, cls, made }) => [id, nbytes, CLASSES[cls], made]),
    groups: grouped(t, blocks).map(({ cls, op, slots, nbytes }) => [CLASSES[cls], op, slots.length, nbytes]),
    layers: [...byLayer(t, at)],
    names: layerNames(t),
    tallest: tallest(t),
    columns: axes.map((axis) => [...columns(t, axis, width)]),
    back: axes.map((axis) =>
      Array.from({ length: axis.to - axis.from }, (_, k) => axis.indexAt(axis.place(axis.from + k))),
    ),
  };
}

function open(base64) {
  try {
    return openSnapshot(new Uint8Array(Buffer.from(base64, "base64"))).map((t) => ({
      events: eventsOf(t),
      samples: t.samples,
      source: t.source,
      about: t.about,
      lines: byLine(t, t.peak),
      told: t.n ? holders({ t, unit: unitFor(t.total[t.peak]) })[0] : "",
    }));
  } catch (error) {
    return { error: error.message };
  }
}

// Messages in the order in which they come; what is asked for is answered from the whole message of the rank.
function hear({ messages, whole }) {
  const asked = [];
  const feed = receiver((wanted) => asked.push(wanted));
  for (const message of messages) {
    feed.hear(message);
    while (asked.length) {
      const { rank, from, named } = asked.shift();
      const all = whole[rank];
      feed.hear({ ...all, from, events: all.events.slice(from), named, what: all.what.slice(named) });
    }
  }
  return {
    traces: feed.traces.map(([rank, t]) => [rank, eventsOf(t), t.total, t.peak, t.samples]),
    asked: feed.asked,
    received: feed.received,
    over: feed.over,
  };
}

console.log(
  JSON.stringify({
    cases: cases.map(play),
    amounts: bytes.map((nbytes) => [unitFor(nbytes), amount(nbytes, "MiB"), amount(nbytes, "GiB")]),
    snapshots: snapshots.map(open),
    feeds: feeds.map(hear),
    links: states.map((state) => decode(encode(state, 2), 2)),
  }),
);
