// Files of a reader's own as traces, each under a name that no other has; or what is wrong with one, and what to do.
import { decode, encode } from "../link.mjs";
import { storedIn } from "../panel/handed.mjs";
import { openSnapshot } from "./snapshot.mjs";
import { CLASSES, KINDS, unpack } from "./store.mjs";

const DUMP = "Give the file that torch.cuda.memory._dump_snapshot wrote.";
const RECORD = "Call torch.cuda.memory._record_memory_history() before the step, and dump it again.";

// Of a folder only what may be a snapshot.
export const worthOpening = (files) =>
  files.filter(({ name, webkitRelativePath: path }) => !path || /\.(pickle|pkl)$/.test(name));

// The name, with its folder where another file has the same, or another of those that came with it; else with a number.
export function labelOf({ name, webkitRelativePath: path }, taken, together = []) {
  const parts = path ? path.split("/") : [name];
  const isAlike = together.filter((one) => one.name === name).length > 1 && parts.length > 1;
  for (let count = isAlike ? 2 : 1; count <= parts.length; count++) {
    const told = parts.slice(-count).join("/");
    if (!taken.has(told)) return told;
  }
  const bare = name.replace(/ \(\d+\)$/, "");
  for (let number = 2; ; number++) if (!taken.has(`${bare} (${number})`)) return `${bare} (${number})`;
}

async function bytesOf(file) {
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    throw new Error("Is it a folder, or was it changed since it was chosen?");
  }
}

const numbered = (traces) => traces.map((t, i) => [t.about.rank ?? t.device ?? i, t]);

// A page that this widget saved, or a recorded trace of the course: [{ name, ranks }] and the state it was saved in.
function storedTraces(bytes, file) {
  const text = new TextDecoder().decode(bytes);
  const { files, state, data } = JSON.parse(text[0] === "<" ? storedIn(text) : text) ?? {};
  const found = (files ?? [{ name: file.name, ranks: data.ranks }]).map(({ name, ranks }) => ({
    file: { name: `${name}` },
    traces: numbered(ranks.map(sound)),
  }));
  return { found, state: decode(encode(state ?? {}, 0), 0) ?? {} }; // only what a link may say
}

const isAmount = (value) => Number.isSafeInteger(value) && value >= 0;

// A trace from packed data; what contradicts itself is refused.
function sound(data) {
  const isText = data.what.every(
    ([kind, cls, ...texts]) =>
      KINDS.includes(kind) && CLASSES.includes(cls) && texts.every((one) => typeof one === "string"),
  );
  const isSound =
    isText && data.modules.every((one) => typeof one === "string") && data.micros.every(Number.isSafeInteger);
  const rows = [data.sizes, ...data.samples, ...(data.ooms ?? [])];
  if (!isSound || !rows.every((row) => row.every(isAmount))) throw new Error("not whole");
  return unpack(data);
}

// A file -> { found: [{ file, traces: [[number, trace]] }], state }; an Error says why there is nothing, and what would help.
export async function tracesIn(file) {
  const bytes = await bytesOf(file);
  if (bytes[0] === 0x3c || bytes[0] === 0x7b) {
    try {
      return storedTraces(bytes, file);
    } catch {
      throw new Error(`no trace is in it that this widget saved. ${DUMP}`);
    }
  }
  try {
    return { found: [{ file, traces: numbered(openSnapshot(bytes)) }] };
  } catch ({ message }) {
    throw new Error(`${message}. ${message.includes("no history") ? RECORD : DUMP}`);
  }
}

// What tells a file again, and nothing of what is in it: of the bytes alive after every event.
export function printOf(traces) {
  let sum = 7;
  for (const [, t] of traces) for (const nbytes of t.total) sum = (Math.imul(sum, 31) + (nbytes % 2 ** 32)) >>> 0;
  return sum.toString(36);
}

// The files in what was dropped, also those in a folder.
export async function dropped({ items, files }) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.());
  if (!entries.some((entry) => entry?.isDirectory)) return [...files];
  return (await Promise.all(entries.filter(Boolean).map(within))).flat();
}

async function within(entry) {
  if (entry.isFile) return [await fileOf(entry)];
  const reader = entry.createReader();
  const next = () => new Promise((resolve, reject) => reader.readEntries(resolve, reject));
  const found = [];
  for (let some = await next(); some.length; some = await next()) found.push(...some); // a hundred at a time
  return (await Promise.all(found.map(within))).flat();
}

// A file of a folder knows its place there.
async function fileOf(entry) {
  const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
  Object.defineProperty(file, "webkitRelativePath", { value: entry.fullPath.slice(1) });
  return file;
}
