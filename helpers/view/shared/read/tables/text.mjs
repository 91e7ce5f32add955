// Texts and numbers spelled as Python spells them in an error.

import { textRepr } from "../python/spelled.mjs";

export const words = (text) => text.match(/\S+/g) ?? [];

// repr() of what JSON holds, numbers being texts: a text in quotes, None, True, False, a list, a Map as a dict.
export function repr(told) {
  if (told === null) return "None";
  if (typeof told === "boolean") return told ? "True" : "False";
  if (Array.isArray(told)) return `[${told.map(repr).join(", ")}]`;
  if (told instanceof Map) return `{${[...told].map(([key, one]) => `${repr(key)}: ${repr(one)}`).join(", ")}}`;
  return textRepr(told);
}

// f"{value:.{digits}g}": an exact half goes to the even digit, where toPrecision goes upwards.
export function general(value, digits = 6) {
  const [all, exponent] = value.toExponential(20).replace(".", "").split("e");
  const isHalf = /^[02468]50*$/.test(all.slice(digits - 1)); // behind an even digit
  const rounded = isHalf ? Number(`${all.slice(0, digits)}e${exponent - digits + 1}`) : value;
  const [shown, power] = rounded.toExponential(digits - 1).split("e");
  if (-4 <= power && power < digits) return String(Number(`${shown}e${power}`));
  return `${Number(shown)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}
