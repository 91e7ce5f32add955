// Both canvases at the size that the page gives them, and what lies under a pointer.
import { BARS_HEIGHT, layerAt, paintBars } from "./bars.mjs";
import { blockAt } from "./blocks.mjs";
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

// Where across the areas a pointer is, from 0 to 1.
export function shareUnder(picture, { clientX }) {
  const { left, width } = picture.getBoundingClientRect();
  const box = inner(width, 100);
  return Math.min(1, Math.max(0, (clientX - left - box.x) / box.w));
}

// The event at the pointer's place, -1 beside the picture.
export const eventUnder = (picture, ui, event) => (ui.t.n ? ui.axis.indexAt(shareUnder(picture, event)) : -1);

// The block at the pointer's place, -1 where there is none.
export function blockUnder(picture, ui, event) {
  const { left, top, width, height } = picture.getBoundingClientRect();
  const box = inner(width, height);
  const [x, y] = [event.clientX - left - box.x, event.clientY - top - box.y];
  if (!ui.t.n || x < 0 || x > box.w || y < 0 || y > box.h) return -1;
  return blockAt(ui, ui.axis.indexAt(x / box.w), ui.top * (1 - y / box.h));
}

export function layerUnder(bars, ui, { clientX }) {
  const { left, width } = bars.getBoundingClientRect();
  return layerAt(ui.rows, width, clientX - left);
}
