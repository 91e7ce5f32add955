// What the model refuses, in the same words as Python's errors of these names.
export const ValueError = class extends Error {};
export const NotPredicted = class extends ValueError {};

// A value as Python writes it.
export function repr(value) {
  if (value == null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "string") return `${value}`;
  const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
  return `${quote}${value.replaceAll("\\", "\\\\").replaceAll(quote, `\\${quote}`)}${quote}`;
}
