// Elements from a tag, attributes and children. Text goes in as text, never as markup.
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
