// What a reader gives: a text, a pickle's bytes, or dumps by rank; as an example, and as files.
import { Refused } from "../shared/read/refused.mjs";
import { unfolded } from "../shared/read/unfolded.mjs";
import { holds } from "./holds.mjs";
import { nbytesText } from "./verdict/texts.mjs";

export const MOST = 24 * 2 ** 20; // bytes at once: a snapshot of as many keeps the page busy for some seconds

// Words that every dump of the flight recorder and every trace of the profiler has, and no other text of ours.
const OF_RANKS = ["pg_config", '"traceEvents"'];

// "gAWV..." -> bytes
const unpacked = (base64) => Uint8Array.from(atob(base64), (letter) => letter.codePointAt(0));

// Traces come packed, which takes a moment: a promise.
export function given({ text, pickle, dumps, packed }) {
  if (packed) return tracesOf(packed);
  if (dumps) return new Map(dumps.map((one, rank) => [rank, one]));
  return pickle ? unpacked(pickle) : text;
}

async function tracesOf(packed) {
  const traces = await Promise.all(packed.map((one) => unfolded(unpacked(one), MOST)));
  return new Map(traces.map((one, rank) => [rank, one]));
}

// Why so much is not read, "" where it is.
export function tooMuch(nbytes) {
  if (nbytes <= MOST) return "";
  return (
    `that is ${nbytesText(nbytes)}, and this page reads ${nbytesText(MOST)} at once at most, so that it does not stand still for long:` +
    " give less of it, or ask is_my_number_good in Python"
  );
}

// [{ name, bytes }]; an Error says why there is nothing to read.
export async function contents(files) {
  const why = tooMuch(files.reduce((sum, { size }) => sum + size, 0));
  if (why) throw new Error(why);
  const read = await Promise.all(
    files.map(async (file) => {
      try {
        return { name: file.name, bytes: await unfolded(new Uint8Array(await file.arrayBuffer()), MOST) };
      } catch (error) {
        if (error instanceof Refused) throw new Error(`${file.name} is ${error.message}`);
        throw new Error(`${file.name} cannot be read: is it a folder, or was it changed since it was chosen?`);
      }
    }),
  );
  const unpacked = tooMuch(read.reduce((sum, { bytes }) => sum + bytes.length, 0));
  if (unpacked) throw new Error(unpacked);
  return read;
}

// Ranks by the last number in each name, where these are all there and all different; else by the order of the names.
export function ranksOf(names) {
  const numbers = names.map((name) =>
    name
      .replace(/\.[a-z]\w*$/i, "")
      .match(/\d+/g)
      ?.at(-1),
  );
  const told =
    numbers.every((number) => number && number.length < 8) && new Set(numbers.map(Number)).size === names.length;
  return told ? numbers.map(Number) : names.map((_, place) => place);
}

// One file is what it is; several dumps go by rank; several texts follow each other, as the logs of several processes do.
export function opened(files) {
  if (files.length === 1) return files[0].bytes;
  if (!OF_RANKS.some((word) => files.every(({ bytes }) => holds(bytes, word)))) return texts(files);
  const ranks = ranksOf(files.map(({ name }) => name));
  const pairs = files.map(({ bytes }, at) => [ranks[at], bytes]).toSorted(([one], [other]) => one - other);
  return new Map(pairs);
}

const texts = (files) => files.map(({ bytes }) => new TextDecoder().decode(bytes)).join("\n");

// What is said of the files: "rank 0: trace_0", or their names.
export function listed(files, own) {
  const names = files.map(({ name }) => name);
  if (!(own instanceof Map)) return names;
  return ranksOf(names)
    .map((rank, at) => [rank, `rank ${rank}: ${names[at]}`])
    .toSorted(([one], [other]) => one - other)
    .map(([, words]) => words);
}
