// What a reader of helpers/view/shared/read answers: node play_read.mjs KIND CASES.json -> a line a case, its value or its refusal.
import { readFileSync } from "node:fs";
import {
  communicators,
  ignoredSettings,
  logText,
  parseDebugLog,
  tookEffect,
  transports,
  version,
} from "../../helpers/view/shared/read/logs/log.mjs";
import { Refused } from "../../helpers/view/shared/read/refused.mjs";

function log(text) {
  const read = parseDebugLog(text);
  const told = { transports: transports(read), communicators: communicators(read), text: logText(read) };
  const settings = { took_effect: tookEffect(read), ignored: ignoredSettings(read) };
  return { ...read, ...settings, ...told, version: answered(version, read) };
}

const KINDS = {
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
