// One frame of the player as a picture for a README: the same drawing modules, on a document that only remembers. Run by node;
// reads { trace, nbytes, link, position, theme, style, title } as JSON, prints an svg. Not part of the widget.
import { readFileSync } from "node:fs";

const escaped = (text) =>
  `${text}`.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

class Remembered {
  constructor(tag) {
    Object.assign(this, { tag, attributes: new Map(), children: [], style: {} });
    this.classList = {
      toggle: (name, on) => on && this.setAttribute("class", `${this.attributes.get("class")} ${name}`),
    };
  }
  setAttribute(name, value) {
    this.attributes.set(name, value);
  }
  append(...children) {
    this.children.push(...children);
  }
  replaceChildren(...children) {
    this.children = children;
  }
  addEventListener() {}
  toString() {
    const attributes = [...this.attributes]
      .filter(([, v]) => v !== "")
      .map(([k, v]) => ` ${k}="${escaped(typeof v === "string" ? v.trim() : v)}"`)
      .join("");
    const inside = this.children.map((child) => (child instanceof Remembered ? `${child}` : escaped(child))).join("");
    return inside ? `<${this.tag}${attributes}>${inside}</${this.tag}>\n` : `<${this.tag}${attributes}/>\n`;
  }
}
globalThis.document = { createElementNS: (_, tag) => new Remembered(tag) };

const { compute } = await import("../shared/schedules/model.mjs");
const { drawMemory } = await import("../shared/drawing/memory.mjs");
const { timeView } = await import("../shared/drawing/time.mjs");
const { topologyView } = await import("../shared/drawing/topology.mjs");
const { sentence } = await import("../shared/schedules/sentence.mjs");
const { set, svg } = await import("../shared/page/dom.mjs");

const WIDTH = 880;
const { trace, nbytes, link, position, theme, style, title } = JSON.parse(readFileSync(0, "utf8"));
const view = compute(trace, nbytes, link);
const words = sentence(view, Math.ceil(position));

const memory = drawMemory(view, position, 500, false);
const tall = Number(memory.attributes.get("height"));
const topology = topologyView(view, 280, tall);
const time = timeView(view, WIDTH - 64);
topology.show(position);
time.show(position);

const text = (kind, x, y, ...runs) =>
  svg(
    "text",
    { class: kind, x, y },
    runs.map((run) => (typeof run === "string" ? run : svg("tspan", { class: "bold" }, ...run))),
  );
const below = 120 + tall;
const height = below + Number(time.node.attributes.get("height")) + 84;
const sheet = svg("style");
sheet.append(style);
const picture = svg(
  "svg",
  {
    xmlns: "http://www.w3.org/2000/svg",
    width: WIDTH,
    height,
    viewBox: `0 0 ${WIDTH} ${height}`,
    role: "img",
    "aria-labelledby": "t",
    class: `bim-view ${theme}`,
  },
  svg("title", { id: "t" }, `${title}. ${words.lead}: ${words.text}`),
  svg("desc", {}, trace.text),
  sheet,
  svg("rect", { class: "paper", x: 0.5, y: 0.5, width: WIDTH - 1, height: height - 1, rx: 12 }),
  text("title", 32, 52, title),
  text("small bold", 32, 88, "Who sends to whom?"),
  text("small bold", 348, 88, "Who holds what?"),
  text("small bold", 32, below, "When?"),
  set(topology.node, { x: 32, y: 100 }),
  set(memory, { x: 348, y: 100 }),
  set(time.node, { x: 32, y: below + 8 }),
  text("sentence", 32, height - 32, [`${words.lead}. `], `${words.text.split(":")[0].replace(/\.$/, "")}.`),
);
process.stdout.write(`${picture}`);
