// What a pointer does: a press or a drag in the picture stands at a time, over a layer it is told, a file dropped is opened.
import { byLayer } from "../trace/parts.mjs";
import { layerText } from "./bars.mjs";
import { eventUnder, layerUnder } from "./easel.mjs";

export function pointers({ root, picture, bars, barText }, ui, stand, open) {
  const point = (event) => {
    const i = eventUnder(picture, ui, event);
    if (i >= 0) stand(i);
  };
  picture.addEventListener("pointerdown", (event) => {
    picture.setPointerCapture(event.pointerId);
    point(event);
  });
  picture.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) point(event);
  });
  bars.addEventListener("pointermove", (event) => {
    const name = layerUnder(bars, ui, event);
    if (name !== undefined) barText.textContent = layerText(name, byLayer(ui.t, ui.at, ui.rows).get(name), ui.unit);
  });
  for (const kind of ["dragover", "drop"])
    root.addEventListener(kind, (event) => {
      event.preventDefault();
      if (kind === "drop" && event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
    });
}
