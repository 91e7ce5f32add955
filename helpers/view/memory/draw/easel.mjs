// Both canvases at the size that the page gives them, and what lies under a pointer.
import { BARS_HEIGHT, layerAt, paintBars } from "./bars.mjs";
import { blockAt } from "./blocks.mjs";
import { views } from "../scope.mjs";
import { inner } from "./chart.mjs";
import { coloursOf } from "./colours.mjs";
import { paint } from "./scene.mjs";

const heightFor = (width, isPair) => (isPair ? 260 : width < 480 ? 300 : 340);

// One picture; or two files' beside each other.
// The same as images of their own, sharp on any screen.
export function images({ root, pictures }, ui) {
  const { clientWidth: width, clientHeight: height } = pictures[0].canvas;
  return views(ui).map((view) => {
    const canvas = document.createElement("canvas");
    paint(canvas, { ...view, width, height, ratio: 3 }, coloursOf(root));
    return canvas.toDataURL();
  });
}

export function draw({ root, pictures, bars, barPanel }, ui) {
  const width = Math.floor(pictures[0].canvas.parentElement.clientWidth);
  if (!width) return;
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const colours = coloursOf(root);
  const height = heightFor(width, ui.pair);
  views(ui).forEach((view, p) => {
    pictures[p].canvas.style.height = `${height}px`;
    paint(pictures[p].canvas, { ...view, width, height, ratio }, colours);
  });
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
