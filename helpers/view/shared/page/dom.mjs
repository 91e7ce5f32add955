// Elements from a tag, attributes and children: text goes in as text, never as markup. The few shapes that every drawing is made of, and
// the pointer that is dragged over one. What most widgets have: choices in a sentence, a slider over sizes, a legend, lines of words.
import { nbytesText } from "./numbers.mjs";

const SVG = "http://www.w3.org/2000/svg";

function grow(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : typeof value === "number" ? +value.toFixed(2) : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return node;
}

export const h = (tag, attributes = {}, ...children) => grow(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) =>
  grow(document.createElementNS(SVG, tag), attributes, children);

export const set = (node, attributes) => grow(node, attributes, []);

// A picture; the same is said in words elsewhere, so it needs a name only.
export const canvas = (kind, width, height, label, ...children) =>
  svg(
    "svg",
    { class: kind, width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    children,
  );

export const rect = (kind, x, y, width, height, rx) =>
  svg("rect", { class: kind, x, y, width: Math.max(0, width), height, rx });

export const line = (kind, x1, y1, x2, y2) => svg("line", { class: kind, x1, y1, x2, y2 });

export const label = (kind, x, y, text, size) => svg("text", { class: kind, x, y, "font-size": size }, `${text}`);

export const moved = (node, x, y) => set(node, { transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` });

// A rank is a rounded square with its number, in every view.

// A switch has no colour: it holds nothing of its own.
export const rankClass = (rank, nranks) => (rank < nranks ? `bim-r${rank % 8}` : "bim-switch");

// Ranks from 8 on share a colour with rank - 8 and carry a second, inner line. What is no rank is round, and as long as its sign.
export function badge(rank, nranks, x, y, size, sign = `${rank}`) {
  const own = rank < nranks;
  const letters = Math.max(11, size * (size < 24 ? 0.58 : 0.42));
  const long = Math.max(size, letters * 0.65 * sign.length + (own ? 3 : 6));
  const square = (kind, inset, rx) =>
    rect(kind, x - long / 2 + inset, y - size / 2 + inset, long - 2 * inset, size - 2 * inset, rx);
  return svg(
    "g",
    { class: `bim-badge ${rankClass(rank, nranks)}` },
    square("bim-rank", 0, own ? size / 5 : size / 2),
    rank >= 8 && own && size >= 16 && square("bim-second", 2, size / 7),
    label("", x, y, sign, letters),
  );
}

// at(pixels from the left edge, whether it lets go) while a pointer is down that began on the node, outside it, too.
export function hold(node, at) {
  const drag = ({ type, button, pointerId, clientX }) => {
    if (type === "pointerdown" && !button) node.setPointerCapture(pointerId);
    if (!node.hasPointerCapture(pointerId)) return;
    at(clientX - node.getBoundingClientRect().left, type === "pointerup" || type === "pointercancel");
  };
  set(node, { pointerdown: drag, pointermove: drag, pointerup: drag, pointercancel: drag });
}

export const said = (kind, more) => h("p", { class: kind, ...more });

// kinds: what a mark stands for, by its class without the bim- before it.
export const legend = (kinds, kind = "bim-legend") =>
  h(
    "p",
    { class: kind },
    Object.entries(kinds).map(([one, words]) => h("span", {}, h("i", { class: `bim-${one}` }), words)),
  );

// pick(value): one of what was offered last. -> { select, show(values, the chosen one, words(value)) }
export function chooser(name, pick) {
  const select = h("select", { "aria-label": name });
  const show = (offered, value, words = String) => {
    select.replaceChildren(...offered.map((one) => h("option", { value: one }, words(one))));
    select.value = value;
    select.onchange = () => pick(offered[select.selectedIndex]);
  };
  return { select, show };
}

// names: of each choice, by the part of the state that it changes.
export const choosers = (names, does) =>
  Object.fromEntries(
    Object.entries(names).map(([part, name]) => [part, chooser(name, (value) => does.take({ [part]: value }))]),
  );

// ends: powers of two.
export function sizer(does, [min, max]) {
  const shown = h("strong");
  const range = h("input", {
    type: "range",
    min,
    max,
    "aria-label": "Size of the message",
    input: () => does.take({ nbytes: 2 ** range.value }),
  });
  const show = (nbytes, words) => {
    range.value = Math.log2(nbytes);
    range.setAttribute("aria-valuetext", words);
    shown.textContent = nbytesText(nbytes);
  };
  return { shown, range, show };
}
