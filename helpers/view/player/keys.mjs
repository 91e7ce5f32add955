// Keyboard: Space plays, arrows step, Home and End jump, wherever focus is inside; what a native control needs is left to it.
const NATIVE = { SELECT: "all", TEXTAREA: "all", INPUT: "steps", BUTTON: "space", SUMMARY: "space", A: "space" };

// The action for a key on an element, or null: "toggle" | "forward" | "back" | "first" | "last"
export function actionFor(key, tag, inTable = false) {
  const native = NATIVE[tag];
  if (native === "all" || inTable) return null;
  if (key === " ") return native === "space" ? null : "toggle";
  if (native === "steps") return null;
  return { ArrowRight: "forward", ArrowLeft: "back", Home: "first", End: "last" }[key] ?? null;
}

export function listen(root, does) {
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const action = actionFor(event.key, event.target.tagName, Boolean(event.target.closest(".bim-scroll")));
    if (!action) return;
    event.preventDefault();
    does[action]();
  });
}
