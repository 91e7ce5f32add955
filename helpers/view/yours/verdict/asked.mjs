// Is my number good? What a text is, and the verdict on it. As helpers/yours/asked.py, tested equal.
import { parseFlightRecorder } from "../../shared/read/flights/recorder.mjs";
import { parseDebugLog } from "../../shared/read/logs/log.mjs";
import { Refused } from "../../shared/read/refused.mjs";
import { readSnapshot } from "../../shared/read/snapshot/snapshot.mjs";
import { WORD } from "../../shared/read/tables/fits.mjs";
import { ncclTestsTables } from "../../shared/read/tables/nccl_tests.mjs";
import { parseTopo } from "../../shared/read/tables/topo.mjs";
import { parseKineto } from "../../shared/read/traces/trace.mjs";
import { curveOf } from "./curves.mjs";
import { ofDumps } from "./dumps.mjs";
import { cause, refusal, verdict } from "./empty.mjs";
import { holds } from "../holds.mjs";
import { ofLog } from "./logs.mjs";
import { ofRun } from "./run/checked.mjs";
import { ofSnapshot } from "./snapshots.mjs";
import { ofTable } from "./tables.mjs";
import { bandwidthText, upperFirst } from "./texts.mjs";
import { ofTopology } from "./topologies.mjs";
import { ofTraces } from "./traces.mjs";

const DUMP = '"pg_config"';
const TRACE = '"traceEvents"';
const RUN = '"records"';
const AVERAGE = /^(?:#? *Avg bus bandwidth *: *)?([0-9]{1,6}(?:\.[0-9]{1,6})?) *(?:GB\/s)?$/i;
const LOG = /NCCL (?:INFO|WARN|version)\b/;
const TABLE = /\balgbw\b|\bbusbw\b|^#? *nThread /m;
const ROW = new RegExp(`\\b[0-9]+[ \\t]+[0-9]+[ \\t]+(?:${Object.keys(WORD).join("|")})[ \\t]+\\S`); // perhaps without its head
const MATRIX = /^[ \t]*GPU0[ \t]+(?:GPU1|X)\b|CPU Affinity/m;

// known: what known.py hands over, with `nccl`, what shared/nccl/known.py does. machine: a key of known.places, null for none.
export function verdictOn(known, given, machine = null) {
  const told = machine === null ? null : known.places[machine];
  try {
    if (typeof given === "string") return ofText(known, given, told);
    return given instanceof Uint8Array ? ofBytes(known, given, told) : ofSeveral(known, given, told);
  } catch (error) {
    if (error instanceof Refused) return refusal(error.message);
    throw error;
  }
}

// Traces where the first of them is one, else dumps: of each rank one.
function ofSeveral(known, given, told) {
  const parts = [...given.values()];
  return parts.length && isTrace(parts[0])
    ? ofTraces(known, parts.map(parseKineto), told)
    : ofDumps(known, parseFlightRecorder(given));
}

// Only a trace has that key; it names its groups in the words of a dump.
const isTrace = (part) => (typeof part === "string" ? part.includes(TRACE) : holds(part, TRACE));

// By what only such a text has; a table that stands in a log counts as the table that it is.
function ofText(known, text, told) {
  if (/^[ \t\r\n]*\{/.test(text) && text.includes(TRACE)) return ofTraces(known, [parseKineto(text)], told);
  if (/^[ \t\r\n]*[{[]/.test(text) && text.includes(DUMP)) return ofDumps(known, parseFlightRecorder([text]));
  if (/^[ \t\r\n]*\{/.test(text) && text.includes(RUN)) return ofRun(known, text, told);
  if (/^[ \t\r\n]*\{/.test(text) || TABLE.test(text) || ROW.test(text)) return ofTables(known, text, told);
  if (MATRIX.test(text)) return ofTopology(known, parseTopo(text));
  if (LOG.test(text)) return ofLog(known, parseDebugLog(text));
  const [, number] = AVERAGE.exec(text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "")) ?? [];
  return number ? average(known, Number(number) * 1e9) : refusal(known.refused);
}

// The first table of several; where there is none but a log, the log.
function ofTables(known, text, told) {
  let tables;
  try {
    tables = ncclTestsTables(text);
  } catch (error) {
    if (error instanceof Refused && LOG.test(text) && !/\balgbw\b/.test(text)) return ofLog(known, parseDebugLog(text));
    throw error;
  }
  const found = ofTable(known, curveOf(known, tables[0]), told);
  if (found.refused || tables.length === 1) return found;
  return { ...found, what: `${found.what}; the first of ${tables.length} tables: give the others alone` };
}

// A pickle, or a file of text.
function ofBytes(known, bytes, told) {
  if (isTrace(bytes)) return ofTraces(known, [parseKineto(bytes)], told);
  if (holds(bytes, "pg_config")) return ofDumps(known, parseFlightRecorder([bytes]));
  if (bytes[0] === 0x80) return ofSnapshot(known, readSnapshot(bytes));
  const text = strictUtf8(bytes);
  return text === null ? refusal(known.refused) : ofText(known, text, told);
}

// The bytes as text; null of what is none.
function strictUtf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function average(known, busbw) {
  const why =
    `${bandwidthText(busbw)} alone says nothing: an average over sizes is low where many of them are small, whatever the` +
    " machine; the whole table is needed, or its largest size, the collective and the number of GPUs";
  const causes = [cause(known, "average", why, { accuses: true })];
  return verdict("nccl-tests", { what: "an average, or a number alone", sentence: `${upperFirst(why)}.`, causes });
}
