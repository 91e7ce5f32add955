// A reader's own tables as curves, or why not; prints all as JSON. Driven by test_published_own.py.
import { readFileSync } from "node:fs";
import { ownCurves } from "../../helpers/view/published/data/own.mjs";

function read(text) {
  try {
    return ownCurves(text);
  } catch (error) {
    return { refused: error.message };
  }
}

console.log(JSON.stringify(JSON.parse(readFileSync(process.argv[2], "utf8")).map(read)));
