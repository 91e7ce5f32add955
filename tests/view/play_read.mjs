// What a reader of helpers/view/shared/read answers: node play_read.mjs KIND CASES.json -> a line a case, its value or its refusal.
import { readFileSync } from "node:fs";
import {
  absent,
  completed,
  disagreements,
  members,
  pending,
  recordText,
  unmet,
} from "../../helpers/view/shared/read/flights/answers.mjs";
import { parseFlightRecorder } from "../../helpers/view/shared/read/flights/recorder.mjs";
import {
  communicators,
  ignoredSettings,
  logText,
  parseDebugLog,
  tookEffect,
  transports,
  version,
} from "../../helpers/view/shared/read/logs/log.mjs";
import { typeName } from "../../helpers/view/shared/read/pickle/data.mjs";
import { checkDepth, readPickle } from "../../helpers/view/shared/read/pickle/pickle.mjs";
import {
  allocated,
  devices,
  entries,
  readSnapshot,
  segments,
} from "../../helpers/view/shared/read/snapshot/snapshot.mjs";
import { Refused } from "../../helpers/view/shared/read/refused.mjs";

function log(text) {
  const read = parseDebugLog(text);
  const told = { transports: transports(read), communicators: communicators(read), text: logText(read) };
  const settings = { took_effect: tookEffect(read), ignored: ignoredSettings(read) };
  return { ...read, ...settings, ...told, version: answered(version, read) };
}

// Data with its types. What can be changed may stand in many places, so it is told once and then by its number.
function typed(data) {
  const seen = new Map();
  const rows = [];
  const listed = (value) =>
    value instanceof Set ? [...value].map((one) => JSON.stringify(keyed(one))).sort() : value.map((one) => visit(one));
  const visit = (value) => {
    const type = typeName(value);
    if (!["list", "dict", "set", "bytearray"].includes(type))
      return [type, value !== null && typeof value === "object" ? inner(value) : leaf(value)];
    if (!seen.has(value)) {
      seen.set(value, seen.size);
      const row = [type];
      rows.push(row);
      row.push(type === "dict" ? [...value].map(([key, one]) => [keyed(key), visit(one)]) : inner(value));
    }
    return seen.get(value);
  };
  const inner = (value) => (value instanceof Uint8Array ? Buffer.from(value).toString("hex") : listed(value));
  const keyed = (key) => (String(key).startsWith("\0") ? "key" : visit(key));
  return [visit(data), rows];
}

function leaf(value) {
  if (typeof value === "string") return Buffer.from(value, "utf16le").swap16().toString("hex");
  if (typeof value !== "number") return String(value);
  const bits = Buffer.alloc(8);
  bits.writeDoubleBE(value);
  return Number.isNaN(value) ? "nan" : bits.toString("hex");
}

function pickled(longest, bytes) {
  const data = readPickle(bytes, longest);
  checkDepth(data);
  return typed(data);
}

function flights(byRank) {
  const read = parseFlightRecorder(byRank);
  const ranks = Object.keys(read.dumps).map((rank) => [completed(read, rank), pending(read, rank)]);
  const groups = new Set(Object.values(read.dumps).flatMap(({ operations }) => operations.map(({ group }) => group)));
  const told = {
    members: [...groups].map((group) => members(read, group)),
    unmet: unmet(read),
    text: recordText(read),
  };
  return { ...read, ...told, ranks, absent: absent(read), disagreements: disagreements(read) };
}

function snapshot(bytes) {
  const read = readSnapshot(bytes);
  const told = devices(read).map((device) => [segments(read, device), segments(read, device).map(allocated)]);
  return { segments: told, entries: read.device_traces.map((_, device) => entries(read, device)) };
}

function hostile(bytes) {
  const data = (longest) => checkDepth(readPickle(bytes, longest));
  const dump = () => parseFlightRecorder([bytes]);
  return [dump, () => readSnapshot(bytes), () => data(null), () => data(64 << 20)].map((read) => {
    const start = performance.now();
    const { refused } = answered(() => void read(), null);
    return { refused: refused ?? null, seconds: (performance.now() - start) / 1000 };
  });
}

const KINDS = {
  hostile,
  flights,
  snapshot,
  pickle: (bytes) => pickled(null, bytes),
  looked: (bytes) => pickled(1 << 20, bytes),
  logs: log,
  strict: (text) => parseDebugLog(text, true).damaged,
};

function opened(carried) {
  if (typeof carried === "string") return carried;
  if (carried.bytes !== undefined) return new Uint8Array(Buffer.from(carried.bytes, "base64"));
  return new Map(carried.dumps.map(([rank, one]) => [rank, opened(one)]));
}

function answered(read, given) {
  try {
    return { value: read(given) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { refused: error.message };
  }
}

function carry(key, value) {
  return typeof value === "bigint" ? { whole: String(value) } : value;
}

const [kind, path] = process.argv.slice(2);
for (const given of JSON.parse(readFileSync(path, "utf8"))) {
  console.log(JSON.stringify(answered(KINDS[kind], opened(given)), carry));
}
