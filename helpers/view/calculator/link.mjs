// The whole state as a link, and as Python.
import { call, cell, py } from "../shared/page/copied.mjs";

const NUMBERS = ["batch", "seq", "zero", "data", "tensor", "width", "cache"];

export const encode = (spec, index) =>
  `#calculator-${index}--${Object.entries(spec)
    .map(([key, value]) => `${key}-${value}`)
    .join("--")}`;

function value(key, text) {
  if (NUMBERS.includes(key)) return Number(text);
  return key === "sequence" ? text === "true" : text;
}

// The spec in a link made for this widget, or null when it is about something else, or names the widget and asks for nothing.
export function decode(hash, index) {
  const start = `#calculator-${index}--`;
  if (!hash.startsWith(start) || hash === start) return null;
  const parts = hash.slice(start.length).split("--");
  return Object.fromEntries(
    parts.map((part) => {
      const [, key, text] = /^([a-z]+)-([\w.-]+)$/.exec(part) ?? [];
      return [key, value(key, text)];
    }),
  );
}

// Cells that add up the same, with or without the widget; and the predicted run where one rank does it all.
export function python({ model, device, mode, ...spec }) {
  const shown = call("calculator", [model], { mode, device, ...spec });
  if (mode === "serve") {
    const { batch, seq, width, cache } = spec;
    const served = call("inference", [model], { batch, seq, dtype_bytes: width, cache_bytes: cache });
    const imports = [py`from helpers.memory.closed_form import inference`, py`from helpers.view import calculator`];
    return cell(...imports, "", py`print(${served})`, shown);
  }
  const { zero, data, tensor, sequence, ...plain } = spec;
  const split = { ...(zero && { zero, data }), ...(tensor > 1 && { tensor, sequence }) };
  const view = py`from helpers.view import calculator`;
  const formula = py`from helpers.memory.closed_form import step`;
  if (Object.keys(split).length) {
    const sharding = call("Sharding", [], split);
    const imports = [py`from helpers.memory import Sharding`, formula, view];
    return cell(...imports, "", py`print(${call("step", [model], { ...plain, sharding })})`, shown);
  }
  const [added, run] = ["step", "predict_step"].map((name) => py`print(${call(name, [model], plain)})`);
  return cell(py`from helpers.measure import predict_step`, formula, view, "", added, run, shown);
}
