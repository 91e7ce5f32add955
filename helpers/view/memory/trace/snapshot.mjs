// PyTorch's memory snapshot as traces, one per GPU that kept a history: what helpers.memory.snapshot makes of it.
import { append, emptyTrace } from "./store.mjs";
import { unpickle } from "./unpickle.mjs";

export const OOM = "out of memory";
const TOLD = { oom: OOM, snapshot: "snapshot" };
const GROWS = { segment_alloc: 1, segment_map: 1, segment_free: -1, segment_unmap: -1 };
const TEMPORARY = 7;
const freed = (action) => action === "free_completed" || action === "free";

const DEEP = 12; // lines of a stack that are kept: nobody reads more in a picture
const partsOf = (filename) => filename.split(/[/\\]/);
const fileOf = ({ filename }) => partsOf(filename).at(-1);

const INSTALLED = /[/\\](?:(?:site|dist)-packages|lib[/\\]python[\d.]+)[/\\]/;
const TORCH = /[/\\]torch[/\\]/;
const distances = new Map();

// From the reader's own program: 0 a .py of theirs, 1 one of a package or of Python itself, 2 torch, and what is no Python.
function distanceOf({ filename: file }) {
  if (!distances.has(file)) distances.set(file, !file.endsWith(".py") || TORCH.test(file) ? 2 : +INSTALLED.test(file));
  return distances.get(file);
}

// Of equals the innermost.
const ownOf = (frames) =>
  frames.find((one) => !distanceOf(one)) ?? frames.find((one) => distanceOf(one) === 1) ?? frames[0];

// "forward model.py:88", with as many folders as two files of one name need to be told apart; files: those that were named so far.
function whereOf(frames = [], files) {
  const frame = ownOf(frames);
  if (!frame) return "";
  const parts = partsOf(frame.filename);
  for (let count = 1; ; count++) {
    const told = `${frame.name} ${parts.slice(-count).join("/")}:${frame.line}`;
    if (!files.has(told)) files.set(told, frame.filename);
    if (files.get(told) === frame.filename || count >= parts.length) return told;
  }
}

// The whole way there, innermost first.
const stackOf = (frames = []) =>
  frames.slice(0, DEEP).map((frame) => `${frame.name} ${fileOf(frame)}${frame.line ? `:${frame.line}` : ""}`);

// [address, bytes] of what was alive before the history: freed in it without an alloc, or still alive and never made in it.
function before(segments, entries) {
  const [found, made] = [[], new Set()];
  for (const { action, addr, size } of entries) {
    if (action === "alloc") made.add(addr);
    else if (freed(action)) {
      if (!made.has(addr)) found.push([addr, size]);
      made.delete(addr);
    }
  }
  for (const { address, blocks } of segments) {
    let at = address;
    for (const block of blocks) {
      const place = block.address ?? at;
      if (block.state !== "inactive" && !made.has(place)) found.push([place, block.requested_size ?? block.size]);
      at += block.size;
    }
  }
  return found;
}

export function historyOf(segments, entries, device) {
  const t = emptyTrace({
    source: "measured (CUDA allocator)",
    about: { label: `snapshot, GPU ${device}`, classes: false },
  });
  Object.assign(t, { device, stacks: [], ooms: [] }); // stacks by slot; [event, bytes asked for, free, to be had by it]
  const files = new Map();
  const here = new Map(); // address -> [block, the line that made it]
  const start = entries[0].time_us ?? 0;
  const micros = ({ time_us }) => (time_us === undefined ? 0 : time_us - start);
  let reserved = segments.reduce((sum, { total_size }) => sum + total_size, 0);
  for (const { action, size } of entries) reserved -= (GROWS[action] ?? 0) * size;
  function alloc(entry) {
    const op = whereOf(entry.frames, files);
    here.set(entry.addr, [t.ids.length, op]);
    t.stacks.push(stackOf(entry.frames));
    append(t, 0, t.ids.length, entry.size, TEMPORARY, "", "", op, micros(entry));
  }
  for (const [addr, size] of before(segments, entries)) alloc({ addr, size });
  for (const entry of entries) {
    const { action, addr, size } = entry;
    if (action === "alloc") alloc(entry);
    else if (freed(action)) {
      const [block, op] = here.get(addr) ?? [];
      if (block === undefined) throw new Error(`an entry frees address ${addr}, where nothing is`);
      here.delete(addr);
      append(t, 1, block, 0, TEMPORARY, "", "", op, micros(entry));
    } else if (TOLD[action]) {
      const { size: asked, device_free: free } = entry;
      if (action === "oom" && free !== undefined) t.ooms.push([t.n, asked, free, reserved + free]);
      append(t, 3, -1, 0, TEMPORARY, "", "", TOLD[action], micros(entry));
    } else if (GROWS[action]) {
      reserved += GROWS[action] * size;
      t.samples.push([Math.max(0, t.n - 1), t.total[t.n - 1] ?? 0, reserved]);
    }
  }
  return t;
}

const isRow = (value) => value !== null && typeof value === "object";

// A pickle's bytes -> traces. An Error says why it is none.
export function openSnapshot(bytes) {
  const data = unpickle(bytes);
  if (!isRow(data) || !Array.isArray(data.segments))
    throw new Error("a snapshot is a dict with “segments” and “device_traces”, and this is none");
  const traces = (data.device_traces ?? []).flatMap((entries, device) => {
    if (!entries.length) return [];
    const segments = data.segments.filter((segment) => (segment.device ?? 0) === device);
    if (![...entries, ...segments].every(isRow)) throw new Error("a snapshot's entries are dicts");
    try {
      return [historyOf(segments, entries, device)];
    } catch (error) {
      throw new Error(`this is no memory snapshot of torch (${error.message})`);
    }
  });
  if (!traces.length)
    throw new Error("this snapshot has no history: torch.cuda.memory._record_memory_history() was not on");
  return traces;
}
