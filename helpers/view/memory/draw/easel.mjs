// Both canvases at the size that the page gives them, and what lies under a pointer.
import { BARS_HEIGHT, layerAt, paintBars } from "./bars.mjs";
import { inner } from "./chart.mjs";
import { coloursOf } from "./colours.mjs";
import { paint } from "./scene.mjs";

const heightFor = (width) => (width < 480 ? 300 : 340);

export function draw({ root, stage, picture, bars, barPanel }, ui) {
  const width = Math.floor(stage.clientWidth);
  if (!width) return;
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const colours = coloursOf(root);
  const height = heightFor(width);
  picture.style.height = `${height}px`;
  paint(picture, { ...ui, width, height, ratio }, colours);
  if (barPanel.hidden) return;
  bars.style.height = `${BARS_HEIGHT}px`;
  paintBars(bars, { ...ui, width: Math.floor(barPanel.clientWidth), ratio }, colours);
}

// The event at the pointer's place, -1 beside the picture.
export function eventUnder(picture, ui, { clientX }) {
  const { left, width } = picture.getBoundingClientRect();
  const box = inner(width, 100);
  const share = (clientX - left - box.x) / box.w;
  return ui.t.n ? ui.axis.indexAt(Math.min(1, Math.max(0, share))) : -1;
}

export function layerUnder(bars, ui, { clientX }) {
  const { left, width } = bars.getBoundingClientRect();
  return layerAt(ui.rows, width, clientX - left);
}
