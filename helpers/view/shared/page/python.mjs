// Python's answer for a widget: on a page of the page's own interpreter, loaded when it is first asked; in a kernel of the kernel. And what
// a page says while Python comes: from where, how much of it, a bar; and where it failed, the way to try again.
import { h } from "./dom.mjs";
import { tool } from "./tools.mjs";

const FAILED = { watch: (hear) => hear({ phase: "failed" }) };
let count = 0;

const WORDS = {
  loading: ({ from }) => `Loading Python from ${from}, once for this page.`,
  starting: () => "Starting Python.",
  failed: () => "Python did not start in this browser.",
};

const megabytes = (nbytes) => (nbytes / 1e6).toFixed(1);

// python: BytesInMotion.python. again: what "Try again" does. -> { node, end }; the node is hidden where nothing is to be said.
function loading(python, again) {
  const said = h("span", { role: "status" });
  const much = h("span");
  const bar = h("progress", { "aria-label": "How much of Python is loaded" });
  const retry = tool("Try again", again);
  const node = h("p", { class: "bim-loading", hidden: true }, said, bar, much, retry);
  const end = python.watch((state) => {
    const { phase, loaded, total } = state;
    const words = WORDS[phase]?.(state) ?? "";
    node.hidden = !words;
    if (said.textContent !== words) said.textContent = words; // a screen reader hears of phases, not of each piece
    const isLoading = phase === "loading" && total > 0;
    bar.hidden = phase === "failed";
    if (isLoading) Object.assign(bar, { max: total, value: loaded });
    else bar.removeAttribute("value");
    much.textContent = isLoading ? `${megabytes(loaded)} of ${megabytes(total)} MB` : "";
    retry.hidden = phase !== "failed";
  });
  return { node, end };
}

// Bytes travel beside the message, null where they stood; `helpers.view.shared.widget` answers.
function ofKernel(model, name, args) {
  const number = ++count;
  return new Promise((resolve) => {
    const hear = ({ answer, value, error }) => {
      if (answer !== number) return;
      model.off("msg:custom", hear);
      resolve(error ? { error } : { value: JSON.parse(value) });
    };
    model.on("msg:custom", hear);
    const isBytes = (one) => one instanceof Uint8Array;
    const given = args.map((one) => (isBytes(one) ? null : one));
    model.send({ ask: name, number, args: given }, undefined, args.filter(isBytes));
  });
}

// A widget that asks: room is where it is said that Python comes, again what is done when the reader wants another try.
// name: "module:function", which gives a JSON text. -> the promise of { value }, { error } or { stopped }
export function asker({ model, live }, room, again) {
  let coming = null;
  return async (name, ...args) => {
    if (live) return ofKernel(model, name, args);
    try {
      await BytesInMotion.load("python.js");
    } catch ({ message }) {
      room.replaceChildren(loading(FAILED, again).node);
      return { error: `Python could not be started: ${message}` };
    }
    coming ??= loading(BytesInMotion.python, again).node;
    room.replaceChildren(coming);
    return BytesInMotion.python.ask(name, ...args);
  };
}

export default { loading };
