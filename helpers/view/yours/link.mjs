// The example and the machine as a link; a reader's own text is in none.

export const encode = ({ example, machine }, index) =>
  `#yours-${index}--try-${example || "ring"}--on-${machine || "none"}`;

// The state in a link made for this widget, or null when it is about something else.
export function decode(hash, index) {
  const found = new RegExp(`^#yours-${index}--try-(\\w+)--on-([\\w-]+)$`).exec(hash);
  return found && { example: found[1], machine: found[2] === "none" ? "" : found[2] };
}
