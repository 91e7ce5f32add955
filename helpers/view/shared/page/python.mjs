// Python's answer for a widget: on a page of the page's own interpreter, loaded when it is first asked; in a kernel of the kernel.
import { loading } from "./loading.mjs";

const FAILED = { watch: (hear) => hear({ phase: "failed" }) };
let count = 0;

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
