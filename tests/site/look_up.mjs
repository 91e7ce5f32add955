// The shim with a page of one widget and no browser: prints the text of the trace that the widget is given.
// Arguments: shim, folder of scripts, spec.
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";

const [shim, scripts, spec] = process.argv.slice(2);
const mount = { dataset: { kind: "player", spec }, replaceChildren() {} };
globalThis.IntersectionObserver = class {
  constructor(hear) {
    this.hear = hear;
  }
  observe(target) {
    setTimeout(() => this.hear([{ target, isIntersecting: true }]));
  }
  unobserve() {}
};
globalThis.location = { hash: "" };
globalThis.window = { addEventListener() {} };
globalThis.document = {
  currentScript: { src: "shim.js" },
  querySelectorAll: () => [mount],
  createElement: () => ({}),
  head: {
    append(script) {
      runInThisContext(readFileSync(`${scripts}/${script.src}`, "utf8"));
      script.onload();
    },
  },
};
runInThisContext(`${readFileSync(shim, "utf8")}; globalThis.BytesInMotion = BytesInMotion`);
BytesInMotion.define("player", { render: ({ model }) => console.log(model.get("trace").text) }, "catalogue");
