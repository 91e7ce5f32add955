// The state as a link and as a cell of Python.
const MODE = /^(fixed|expandable|both)$/;

export const encode = ({ mode, step }, index) => `#segments-${index}--mode-${mode}--step-${step}`;

// -> { mode, step }, or null when the link is about something else
export function decode(hash, index, nevents) {
  const found = new RegExp(`^#segments-${index}--mode-(\\w+)--step-(\\d+)$`).exec(hash);
  return found && MODE.test(found[1]) && +found[2] <= nevents ? { mode: found[1], step: +found[2] } : null;
}

export function python(spec, { mode, step }) {
  const limit = spec.limit ? `, limit=${spec.limit}` : "";
  return `from helpers.view import segments\n\nsegments("""${spec.program}""", mode="${mode}", step=${step}${limit})`;
}
