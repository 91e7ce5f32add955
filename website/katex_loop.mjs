// One formula a line in, one answer a line out: {tex, display} -> {html} or {error}.
import { createInterface } from "node:readline";
import katex from "../assets/vendor/katex/katex.mjs";

for await (const line of createInterface({ input: process.stdin })) {
  const { tex, display } = JSON.parse(line);
  console.log(JSON.stringify(typeset(tex, display)));
}

function typeset(tex, displayMode) {
  try {
    const html = katex.renderToString(tex, {
      displayMode,
      output: "htmlAndMathml",
      strict: "error",
      throwOnError: true,
    });
    return { html };
  } catch (error) {
    return { error: error.message };
  }
}
