// Keyboard: Space plays, arrows step, Home and End jump, wherever focus is inside; what a native control needs is left to it.
const STEPS = { ArrowRight: "forward", ArrowLeft: "back", Home: "first", End: "last" };

// The action for a key on an element, or null: "toggle" | "forward" | "back" | "first" | "last"
export function actionFor(key, tag) {
  if (key === " ") return ["BUTTON", "SUMMARY", "SELECT", "TEXTAREA"].includes(tag) ? null : "toggle";
  return ["INPUT", "SELECT", "TEXTAREA"].includes(tag) ? null : STEPS[key] ?? null;
}

export function listen(root, does) {
  root.addEventListener("keydown", (event) => {
    const { target, key } = event;
    const action = actionFor(key, target.tagName);
    if (!action || event.ctrlKey || event.metaKey || event.altKey || target.closest(".bim-scroll")) return;
    event.preventDefault();
    does[action]();
  });
}
