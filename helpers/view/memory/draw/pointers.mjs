// What a pointer does: a press or a drag in the picture stands at a time, over a block or a layer it is told; two fingers, Ctrl and the
// wheel, or Shift and a drag show another part of the time; a file dropped is opened.
import { dropped } from "../trace/opening.mjs";
import { byLayer } from "../trace/parts.mjs";
import { layerText } from "./bars.mjs";
import { blockUnder, eventUnder, layerUnder, shareUnder } from "./easel.mjs";
import { panned, zoomed } from "./window.mjs";

const PER_PIXEL = 0.004; // of a wheel's way: a notch of 100 px shows two thirds as much
const SIDEWAYS = 600; // px of a wheel's way for a picture's width

// does: { stand(event), over(slot, event), open(files), shown(): [from, to], whole(): [from, to), view(range) }
export function pointers({ root, pictures, bars, barText }, ui, does) {
  const [first, second] = pictures.map(({ canvas }) => canvas);
  touching(first, ui, does);
  touching(second, ui, { ...does, over: () => {} }); // blocks are told of the first
  bars.addEventListener("pointermove", (event) => {
    const name = layerUnder(bars, ui, event);
    if (name !== undefined) barText.textContent = layerText(name, byLayer(ui.t, ui.at, ui.rows).get(name), ui.unit);
  });
  dropping(root, does.open);
}

function touching(picture, ui, does) {
  const fingers = new Map(); // pointers that are down: where they began and are
  picture.addEventListener("pointerdown", (event) => {
    down(picture, fingers, does, event);
    told(picture, ui, fingers, does, event);
  });
  picture.addEventListener("pointermove", (event) => moved(picture, ui, fingers, does, event));
  for (const end of ["pointerup", "pointercancel"])
    picture.addEventListener(end, ({ pointerId }) => fingers.delete(pointerId));
  picture.addEventListener("pointerleave", (event) => event.pointerType === "touch" || does.over(-1, event));
  picture.addEventListener("wheel", (event) => wheeled(picture, does, event), { passive: false });
}

// A press begins: one stands there, with Shift or by a second finger the picture is held.
function down(picture, fingers, does, event) {
  if (event.pointerType === "mouse" && event.button) return;
  picture.setPointerCapture(event.pointerId);
  const share = shareUnder(picture, event);
  fingers.set(event.pointerId, { share, now: share, holds: event.shiftKey });
  for (const finger of fingers.values()) Object.assign(finger, { share: finger.now, shown: does.shown() });
}

function moved(picture, ui, fingers, does, event) {
  const finger = fingers.get(event.pointerId);
  if (finger) finger.now = shareUnder(picture, event);
  told(picture, ui, fingers, does, event);
}

// What the pointers that are down say together.
function told(picture, ui, fingers, does, event) {
  const [one, two] = [...fingers.values()];
  if (two) return does.view(pinched(one, two, does.whole()));
  if (one?.holds) return does.view(panned(one.shown, does.whole(), one.share - one.now));
  const i = eventUnder(picture, ui, event);
  if (one && i >= 0) does.stand(i);
  does.over(blockUnder(picture, ui, event), event);
}

// What lay under each finger stays under it.
function pinched(one, two, whole) {
  const [before, after] = [Math.abs(one.share - two.share), Math.abs(one.now - two.now)];
  const factor = Math.max(before, 0.02) / Math.max(after, 0.02);
  const [from, to] = [(one.share + two.share) / 2, (one.now + two.now) / 2];
  return panned(zoomed(one.shown, whole, factor, from), whole, from - to);
}

// With Ctrl, as a pinch of a touchpad comes, nearer or farther; with Shift, or sideways, along.
function wheeled(picture, does, event) {
  const { ctrlKey, metaKey, shiftKey, deltaX, deltaY } = event;
  const isAlong = Math.abs(deltaX) > Math.abs(deltaY) || shiftKey;
  const [shown, whole] = [does.shown(), does.whole()];
  const isNear = shown[1] - shown[0] < whole[1] - whole[0];
  if (!ctrlKey && !metaKey && !(isAlong && isNear)) return; // the page scrolls
  event.preventDefault();
  if (isAlong && !ctrlKey && !metaKey) return does.view(panned(shown, whole, (deltaX || deltaY) / SIDEWAYS));
  const factor = Math.exp(Math.min(150, Math.max(-150, deltaY)) * PER_PIXEL);
  does.view(zoomed(shown, whole, factor, shareUnder(picture, event)));
}

function dropping(root, open) {
  const inside = (is) => root.classList.toggle("bim-mt-dropping", is);
  root.addEventListener("dragover", (event) => {
    event.preventDefault();
    inside(true);
  });
  root.addEventListener("dragleave", ({ relatedTarget }) => inside(root.contains(relatedTarget)));
  root.addEventListener("drop", (event) => {
    event.preventDefault();
    inside(false);
    dropped(event.dataTransfer).then((files) => files.length && open(files));
  });
}
