// What the page reads of traces: node play_traces.mjs CASES.json -> a line a case; a case is a list of traces, of which one may be alone.
import { readFileSync } from "node:fs";
import { Refused } from "../../helpers/view/shared/read/refused.mjs";
import { caused, heldPlainly, timesLast, together, waited } from "../../helpers/view/shared/read/traces/ranks.mjs";
import { breakdown, devicesOf, longest, parseKineto } from "../../helpers/view/shared/read/traces/trace.mjs";

function told(read) {
  const { work: _, loading, ...fields } = read;
  const steps = [null, ...Object.keys(read.steps)];
  const parts = devicesOf(read).flatMap((_, at) => steps.map((step) => breakdown(read, at, step)));
  const most = longest(read, 5).map(({ place }) => place);
  return { ...fields, devices: devicesOf(read), loading: loading.map((span) => span.map(Number)), parts, most };
}

function ranks(reads) {
  const found = together(reads);
  const each = [...found.traces.keys()].map((rank) => [waited(found, rank), caused(found, rank)].map(Number));
  const last = [...found.traces.keys()].map((rank) => timesLast(found, rank));
  return { held: heldPlainly(found), unmatched: found.unmatched, each, last };
}

function answer(sources) {
  try {
    const reads = sources.map(parseKineto);
    return { value: { reads: reads.map(told), ranks: reads.length > 1 ? ranks(reads) : null } };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { refused: error.message };
  }
}

const plain = (key, value) => (typeof value === "bigint" ? { whole: String(value) } : value);
for (const sources of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  console.log(JSON.stringify(answer(sources), plain));
}
