// A pickle's steps looked through before any is done, as Python's pickletools would: helpers/plain_pickle.py, _look_through.

import { NotPlain, unbroken } from "./errors.mjs";
import { STEPS, stepCode } from "./opcodes.mjs";
import { source } from "./source.mjs";
import { ascii, floatLine, intLine, longLine, placeLine, quotedLine, rawLine, unescaped } from "./texts.mjs";

const CHECKS = {
  INT: intLine,
  LONG: longLine,
  STRING: quotedLine,
  UNICODE: rawLine,
  FLOAT: floatLine,
  GET: placeLine,
  PUT: placeLine,
  PERSID: (bytes) => unescaped(ascii(bytes)),
  GLOBAL: (lines) => lines.forEach((one) => unescaped(ascii(one))),
  INST: (lines) => lines.forEach((one) => unescaped(ascii(one))),
};
const PUTS = { PUT: placeLine, BINPUT: (place) => place, LONG_BINPUT: (place) => place };

/** NotPlain where the pickle is too long, is broken anywhere, or keeps a thing under a number far beyond how many it keeps. */
export function lookThrough(bytes, longest) {
  if (bytes.length > longest) throw new NotPlain(`is longer than ${longest} bytes: ${bytes.length}`);
  const far = unbroken(() => farPut(bytes));
  if (far) throw new NotPlain(`keeps its ${far[0]}th thing as number ${far[1]}`);
}

/** The first PUT whose number is too high: how many things were kept by then, and its number. */
function farPut(bytes) {
  const from = source(bytes, false);
  let [kept, far, name] = [0, null, ""];
  while (name !== "STOP") {
    const found = STEPS[stepCode(from)];
    const argument = found.argument(from);
    name = found.name;
    CHECKS[name]?.(argument);
    if (name === "MEMOIZE") kept += 1;
    if (!PUTS[name]) continue;
    kept += 1;
    const place = PUTS[name](argument);
    if (place > kept) far ??= [kept, place];
  }
  return far;
}
