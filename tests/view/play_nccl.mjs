// Computes the cases of a JSON file with the port of helpers.nccl.predict; prints what it found as JSON. Driven by test_nccl_equal.py.
import { readFileSync } from "node:fs";
import { predict } from "../../helpers/view/shared/nccl/predict.mjs";
import { NotPredicted, ValueError } from "../../helpers/view/shared/nccl/refused.mjs";

const { known, cases } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function play(asked) {
  try {
    return predict(known, ...asked);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    return { refused: error instanceof NotPredicted ? "NotPredicted" : "ValueError", message: error.message };
  }
}

console.log(JSON.stringify(cases.map(play)));
