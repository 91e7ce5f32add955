// Gives the verdict on every case of a JSON file, and how long the slowest took; prints JSON. Driven by test_yours_equal.py.
import { readFileSync } from "node:fs";
import { verdictOn } from "../../helpers/view/yours/verdict/asked.mjs";

const { known, cases } = JSON.parse(readFileSync(process.argv[2], "utf8"));

const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"));

function given({ text, pickle, dumps }) {
  if (dumps) return new Map(Object.entries(dumps).map(([rank, one]) => [Number(rank), given(one)]));
  return text ?? bytes(pickle);
}

const answers = cases.map((one) => {
  const start = performance.now();
  const found = verdictOn(known, given(one), one.machine ?? null);
  return { found, ms: performance.now() - start };
});
console.log(JSON.stringify(answers));
