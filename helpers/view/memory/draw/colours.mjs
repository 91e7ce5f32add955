// The page's own colours for a canvas, which knows no custom properties; and a word when the theme changes.
import { h } from "../../shared/page/dom.mjs";

const TOKENS = ["parameters", "gradients", "optimizer", "input", "cache", "activations", "communication", "temporary"];
const GROUNDS = ["ink", "muted", "line", "edge", "panel", "well", "wrong", "page", "accent"];

export const CLASS_NAMES = TOKENS;

// The colour of a band: of a class, of a line of code, or of all other lines.
export const tokenOf = ({ cls, hue }) =>
  cls !== undefined ? `--bim-memory-${TOKENS[cls]}` : hue < 0 ? "--bim-edge" : `--bim-series-${hue}`;

export const swatch = (ink) =>
  h("i", {
    class: ink.striped ? "bim-swatch bim-striped" : "bim-swatch",
    style: `background-color: var(${tokenOf(ink)})`,
  });

export function coloursOf(root) {
  const style = getComputedStyle(root);
  const read = (name) => style.getPropertyValue(name).trim();
  const grounds = Object.fromEntries(GROUNDS.map((name) => [name, read(`--bim-${name}`)]));
  const ranks = Array.from({ length: 8 }, (_, rank) => read(`--bim-rank-${rank}`));
  const band = (ink) => read(tokenOf(ink));
  return { ...grounds, ranks, classes: TOKENS.map((_, cls) => band({ cls })), band, font: read("--bim-font-ui") };
}

// Fills the path, or what `fill` fills, in a band's colour, with stripes of the ground where the colour comes a second time.
export function filled(ctx, colours, ink, fill = () => ctx.fill()) {
  ctx.fillStyle = colours.band(ink);
  fill();
  if (!ink.striped) return;
  ctx.fillStyle = stripes(ctx, colours.panel);
  fill();
}

const TILE = 6; // px, as the swatch's

function stripes(ctx, colour) {
  const { a: ratio } = ctx.getTransform();
  const size = Math.round(TILE * ratio);
  const tile = new OffscreenCanvas(size, size);
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = size / 3.5;
  for (const x of [-size, 0, size]) {
    pen.moveTo(x - 1, size + 1);
    pen.lineTo(x + size + 1, -1);
  }
  pen.stroke();
  const pattern = ctx.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
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
