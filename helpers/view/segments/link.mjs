// The state as a link and as a cell of Python.
import { shown } from "../shared/page/copied.mjs";

const MODE = /^(fixed|expandable|both)$/;

export const encode = ({ mode, step }, index) => `#segments-${index}--mode-${mode}--step-${step}`;

// -> { mode, step }, or null when the link is about something else
export function decode(hash, index, nevents) {
  const found = new RegExp(`^#segments-${index}--mode-(\\w+)--step-(\\d+)$`).exec(hash);
  return found && MODE.test(found[1]) && +found[2] <= nevents ? { mode: found[1], step: +found[2] } : null;
}

export const python = ({ program, limit }, { mode, step }) =>
  shown("segments", [program], { mode, step, limit: limit || undefined });
