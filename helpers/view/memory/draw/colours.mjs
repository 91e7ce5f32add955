// The page's own colours for a canvas, which knows no custom properties; and a word when the theme changes.
const TOKENS = ["parameters", "gradients", "optimizer", "input", "cache", "activations", "communication", "temporary"];
const GROUNDS = ["ink", "muted", "line", "edge", "panel", "well", "wrong", "page", "accent"];

export const CLASS_NAMES = TOKENS;

export const tokenOf = (cls) => `--bim-memory-${TOKENS[cls]}`;

export function coloursOf(root) {
  const style = getComputedStyle(root);
  const read = (name) => style.getPropertyValue(name).trim();
  const grounds = Object.fromEntries(GROUNDS.map((name) => [name, read(`--bim-${name}`)]));
  const ranks = Array.from({ length: 8 }, (_, rank) => read(`--bim-rank-${rank}`));
  return { ...grounds, ranks, classes: TOKENS.map((_, cls) => read(tokenOf(cls))), font: read("--bim-font-ui") };
}

// The site says its theme on <html>, JupyterLab on <body>, and else the system does.
export function onTheme(hear) {
  const watcher = new MutationObserver(hear);
  for (const node of [document.documentElement, document.body]) watcher.observe(node, { attributes: true });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", hear);
  return () => {
    watcher.disconnect();
    system.removeEventListener("change", hear);
  };
}
