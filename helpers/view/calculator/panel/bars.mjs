// Every moment as a bar, stacked by class, on one scale with the device: which is the highest, and does it fit?
import { h } from "../../shared/page/dom.mjs";
import { CLASSES, colour, sized } from "../says.mjs";

// [[class, bytes]] in the order in which they are stacked
export const byClass = (terms) =>
  Object.keys(CLASSES)
    .map((cls) => [cls, terms.reduce((sum, one) => sum + (one.cls === cls ? one.nbytes : 0), 0)])
    .filter(([, n]) => n);

function bar({ terms }, { scale, unit }) {
  return h(
    "span",
    { class: "bim-calc-bar", "aria-hidden": "true" },
    byClass(terms).map(([cls, n]) =>
      h("i", {
        style: `width:${(100 * n) / scale}%;background:${colour(cls)}`,
        title: `${CLASSES[cls][0]}: ${sized(n, unit)}`,
      }),
    ),
  );
}

function momentRow(moment, { scale, unit, capacity, chosen, onChoose }) {
  const over = moment.nbytes > capacity;
  return h(
    "button",
    {
      type: "button",
      class: `bim-calc-row${over ? " bim-calc-over" : ""}`,
      "aria-pressed": `${moment.name === chosen}`,
      click: () => onChoose(moment.name),
    },
    h("span", { class: "bim-calc-name" }, moment.name),
    " ",
    bar(moment, { scale, unit }),
    h("strong", {}, sized(moment.nbytes, unit)),
    over && h("span", { class: "bim-sr" }, " does not fit"),
  );
}

// The device's capacity is a line over all bars, its name below.
export function bars(moments, { unit, capacity, device, chosen, onChoose }) {
  const scale = 1.04 * Math.max(capacity, ...moments.map(({ nbytes }) => nbytes));
  const place = (100 * capacity) / scale;
  const limit = h(
    "div",
    { class: "bim-calc-limit", "aria-hidden": "true" },
    h("span", {}),
    h(
      "i",
      { style: `left:${place}%` },
      h("em", { class: place > 60 ? "bim-calc-left" : "" }, `${device}, ${sized(capacity, unit)}`),
    ),
    h("span", {}),
  );
  const shown = moments.map((moment) => momentRow(moment, { scale, unit, capacity, chosen, onChoose }));
  return h("div", { class: "bim-calc-bars", role: "group", "aria-label": "Moments of the step" }, shown, limit);
}
