// Files of a reader's own as traces, each under a name that no other has; or what is wrong with one, and what to do.
import { openSnapshot } from "./snapshot.mjs";

const DUMP = "Give the file that torch.cuda.memory._dump_snapshot wrote.";
const RECORD = "Call torch.cuda.memory._record_memory_history() before the step, and dump it again.";

// The name, with its folder where another file has the same, else with a number.
export function labelOf({ name, webkitRelativePath: path }, taken) {
  const parts = path ? path.split("/") : [name];
  for (let count = 1; count <= parts.length; count++) {
    const told = parts.slice(-count).join("/");
    if (!taken.has(told)) return told;
  }
  for (let number = 2; ; number++) if (!taken.has(`${name} (${number})`)) return `${name} (${number})`;
}

async function bytesOf(file) {
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    throw new Error("is it a folder, or was it changed since it was chosen?");
  }
}

// -> the traces of a file as [[number, trace]]; an Error says why there are none, and what would help.
export async function tracesIn(file) {
  try {
    return openSnapshot(await bytesOf(file)).map((t, i) => [i, t]);
  } catch ({ message }) {
    throw new Error(`${message}. ${message.includes("no history") ? RECORD : DUMP}`);
  }
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
