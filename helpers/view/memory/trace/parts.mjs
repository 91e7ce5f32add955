// A trace's parts: layers by the modules' names, phases and layers as runs of events, and what every layer holds.
import { CLASSES, classesAt } from "./store.mjs";

const layerKnown = new Map();

// "layers.3.attn.q" is in layer "layers.3"; a path without a number is its own layer.
export function layerOf(module) {
  if (!layerKnown.has(module)) layerKnown.set(module, layerFound(module));
  return layerKnown.get(module);
}

function layerFound(module) {
  const words = module.split(".");
  const number = words.findIndex((word) => /^\d+$/.test(word));
  return number < 0 ? module : words.slice(0, number + 1).join(".");
}

// "layers.3" -> "3", "model.norm" -> "norm"
export const shortName = (layer) => layer.split(".").at(-1);

// [{ name, from, to }]: runs of equal name(i), events from to to - 1; marks and nameless events belong to the run that they interrupt.
export function runs(t, name) {
  const all = [];
  for (let i = 0; i < t.n; i++) {
    const own = t.kind[i] === 3 ? "" : name(i);
    if (!own) continue;
    const last = all.at(-1);
    if (last?.name === own) last.to = i + 1;
    else all.push({ name: own, from: i, to: i + 1 });
  }
  return all;
}

export const phasesOf = (t) => runs(t, (i) => t.phase[i]);

export function layersOf(t) {
  return runs(t, (i) => layerOf(t.module[i]));
}

// Layers in the order in which their first blocks were made; what belongs to no module is in no layer.
export function layerNames(t) {
  const names = new Set(t.home.map(layerOf));
  names.delete("");
  return [...names];
}

// Bytes alive after event i: layer -> by class; "" is what belongs to no module.
export function byLayer(t, i, names = layerNames(t)) {
  const held = new Map([...names, ""].map((name) => [name, CLASSES.map(() => 0)]));
  classesAt(t, i).forEach((cls, slot) => {
    if (cls >= 0) held.get(layerOf(t.home[slot]))[cls] += t.nbytes[slot];
  });
  return held;
}

// The most that any layer ever holds, so that the columns' scale stands still.
export function tallest(t) {
  const held = new Map();
  const layers = t.home.map(layerOf);
  let most = 0;
  for (let i = 0; i < t.n; i++) {
    const slot = t.slot[i];
    if (t.kind[i] > 1 || !layers[slot]) continue;
    const now = (held.get(layers[slot]) ?? 0) + (t.kind[i] ? -1 : 1) * t.nbytes[slot];
    held.set(layers[slot], now);
    most = Math.max(most, now);
  }
  return most;
}

// Blocks in rows: equal class and operation together. [{ cls, op, modules, slots, nbytes }], largest first.
export function grouped(t, blocks) {
  const groups = new Map();
  for (const { cls, made, nbytes, slot } of blocks) {
    const key = `${cls} ${t.op[made]}`;
    const group = groups.get(key) ?? { cls, op: t.op[made], modules: new Set(), slots: [], nbytes: 0 };
    group.modules.add(t.home[slot]);
    group.slots.push(slot);
    group.nbytes += nbytes;
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.nbytes - a.nbytes);
}

// The blocks behind a text: in its operation, its module or its class.
export function matching(t, blocks, text) {
  const words = text.toLowerCase().replace(/[()]/g, " ").split(/\s+/).filter(Boolean);
  return blocks.filter(({ cls, made, slot }) =>
    words.every((word) => `${t.op[made]} ${t.home[slot]} ${CLASSES[cls]}`.toLowerCase().includes(word)),
  );
}
