// A trace in columns that can grow: Python's packed form read, or events appended as they arrive. What is alive, by class, at every event.
export const CLASSES = [
  "parameter",
  "gradient",
  "optimizer",
  "input",
  "cache",
  "activation",
  "communication",
  "temporary",
];
export const KINDS = ["alloc", "free", "class", "mark"];

// By slot: its id, bytes, the event that made it, and home: the module that it belongs to, which for what a step made is told later,
// with its class. Columns by event: kind, slot (which allocation, -1 for a mark),
// cls, module, phase, op, micros, total, and bytes[event * 8 + class].
export function emptyTrace({ source = "", about = {}, samples: given = [] } = {}) {
  const samples = [...given];
  const columns = { kind: [], slot: [], cls: [], module: [], phase: [], op: [], micros: [], total: [], bytes: [] };
  const blocks = { ids: [], nbytes: [], made: [], home: [], slotOf: new Map(), now: [], clsNow: CLASSES.map(() => 0) };
  return { source, about, samples, n: 0, peak: 0, timed: false, ...columns, ...blocks };
}

// One event more. kind and cls are numbers; a block's id names it, as in Python.
export function append(t, kind, id, nbytes, cls, module, phase, op, micros) {
  let slot = kind === 3 ? -1 : t.slotOf.get(id);
  if (kind === 0) {
    slot = t.ids.push(id) - 1;
    t.slotOf.set(id, slot);
    t.nbytes.push(nbytes);
    t.made.push(t.n);
    t.home.push(module);
    t.now.push(cls);
    t.clsNow[cls] += nbytes;
  } else if (slot >= 0) {
    t.clsNow[t.now[slot]] -= t.nbytes[slot];
    if (kind === 2) t.clsNow[cls] += t.nbytes[slot];
    t.now[slot] = kind === 2 ? cls : -1;
    if (kind === 2) t.home[slot] ||= module;
  } else if (kind !== 3) throw new Error(`event ${t.n} is of block ${id}, which is not alive`);
  push(t, kind, slot, cls, module, phase, op, micros);
}

function push(t, kind, slot, cls, module, phase, op, micros) {
  t.kind.push(kind);
  t.slot.push(slot);
  t.cls.push(cls);
  t.module.push(module);
  t.phase.push(phase);
  t.op.push(op);
  t.micros.push(micros);
  t.bytes.push(...t.clsNow);
  t.total.push(t.clsNow.reduce((sum, one) => sum + one, 0));
  t.timed ||= micros > 0;
  if (t.total[t.n] > t.total[t.peak]) t.peak = t.n;
  t.n += 1;
}

// What helpers.memory.pack wrote.
export function unpack(data) {
  const t = emptyTrace(data);
  if (data.ooms) t.ooms = data.ooms; // of a snapshot that was saved
  const rows = data.what.map(([kind, cls, phase, op]) => [KINDS.indexOf(kind), CLASSES.indexOf(cls), phase, op]);
  let [block, allocs, id, micros, run, left] = [0, 0, data.ids.length ? 0 : -1, 0, -1, 0];
  data.events.forEach((which, i) => {
    const [kind, cls, phase, op] = rows[which];
    if (!left) left = data.module[++run][1];
    left -= 1;
    micros += data.micros[i] ?? 0;
    const age = kind === 3 ? 0 : data.blocks[block++];
    if (kind === 0) id += data.ids[allocs] ?? 1;
    const named = kind === 0 ? id : t.ids[allocs - age];
    append(
      t,
      kind,
      named,
      kind === 0 ? data.sizes[data.bytes[allocs++]] : 0,
      cls,
      data.modules[data.module[run][0]],
      phase,
      op,
      micros,
    );
  });
  return t;
}

// The class of every slot after event i, -1 where it is not alive.
export function classesAt(t, i) {
  const held = new Int8Array(t.ids.length).fill(-1);
  for (let at = 0; at <= i; at++) {
    if (t.kind[at] === 1) held[t.slot[at]] = -1;
    else if (t.kind[at] !== 3) held[t.slot[at]] = t.cls[at];
  }
  return held;
}

// [{ slot, id, nbytes, cls, made }] alive after event i, largest first: Trace.alive.
export function alive(t, i) {
  const blocks = [];
  classesAt(t, i).forEach((cls, slot) => {
    if (cls >= 0) blocks.push({ slot, id: t.ids[slot], nbytes: t.nbytes[slot], cls, made: t.made[slot] });
  });
  return blocks.sort((a, b) => b.nbytes - a.nbytes || a.id - b.id);
}

// Bytes by class after event i.
export const composition = (t, i) => t.bytes.slice(i * CLASSES.length, (i + 1) * CLASSES.length);

// Every mark: [event, name].
export const marksOf = (t) => t.kind.flatMap((kind, i) => (kind === 3 ? [[i, t.op[i]]] : []));

// What the allocator had reserved after every sample: [[event, bytes]].
export const reservedOf = (t) => t.samples.map(([i, , reserved]) => [i, reserved]);

// What it had in blocks, where that is not what is alive, as it is in a snapshot: [[event, bytes]].
export const inBlocksOf = (t) =>
  t.about.classes !== false && t.samples.some(([i, allocated]) => allocated !== t.total[i])
    ? t.samples.map(([i, allocated]) => [i, allocated])
    : [];

// What it said last up to event i: [event, allocated, reserved], or undefined.
export const saidAt = (t, i) => t.samples.findLast(([event]) => event <= i);
