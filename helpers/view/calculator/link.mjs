// The whole state as a link, and as Python.
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
  return Object.fromEntries(
    hash
      .slice(start.length)
      .split("--")
      .map((part) => {
        const at = part.indexOf("-");
        return [part.slice(0, at), value(part.slice(0, at), part.slice(at + 1))];
      }),
  );
}

const spelled = (one) =>
  typeof one === "string" ? `"${one}"` : typeof one === "boolean" ? (one ? "True" : "False") : `${one}`;

const options = (pairs) => pairs.map(([key, one]) => `${key}=${spelled(one)}`).join(", ");

const call = (name, first, pairs) => `${name}("${first}", ${options(pairs)})`;

// Cells that add up the same, with or without the widget; and the predicted run where one rank does it all.
export function python({ model, device, mode, ...spec }) {
  const shown = call("calculator", model, Object.entries({ mode, device, ...spec }));
  if (mode === "serve") {
    const served = [
      ["batch", spec.batch],
      ["seq", spec.seq],
      ["dtype_bytes", spec.width],
      ["cache_bytes", spec.cache],
    ];
    return (
      `from helpers.memory.closed_form import inference\nfrom helpers.view import calculator\n\n` +
      `print(${call("inference", model, served)})\n${shown}`
    );
  }
  const { zero, data, tensor, sequence, ...plain } = spec;
  const split = [
    ...(zero
      ? [
          ["zero", zero],
          ["data", data],
        ]
      : []),
    ...(tensor > 1
      ? [
          ["tensor", tensor],
          ["sequence", sequence],
        ]
      : []),
  ];
  const sharding = split.length ? `, sharding=Sharding(${options(split)}))` : ")";
  const formula = call("step", model, Object.entries(plain)).replace(/\)$/, sharding);
  const run = split.length ? "" : `\nprint(${call("predict_step", model, Object.entries(plain))})`;
  const imports = [
    "from helpers.memory.closed_form import step",
    ...(run ? ["from helpers.measure import predict_step"] : ["from helpers.memory import Sharding"]),
    "from helpers.view import calculator",
  ].sort();
  return `${imports.join("\n")}\n\nprint(${formula})${run}\n${shown}`;
}
