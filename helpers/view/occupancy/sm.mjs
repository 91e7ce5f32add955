// The drawing of one SM: four partitions with their warp slots, filled block by block; and occupancy over the size of a block.
import { h, svg } from "../shared/page/dom.mjs";
import { times } from "../shared/page/numbers.mjs";
import { occupancyCurve } from "./count.mjs";

const SLOT = 34;
const GAP = 4;
const ACROSS = 4; // slots in a row of a partition

// Warp w of all resident ones goes to partition w mod 4; its number is its block's.
export function smPicture(gpu, got) {
  const perPart = gpu.warps / 4;
  const rows = Math.ceil(perPart / ACROSS);
  const [wide, high] = [ACROSS * (SLOT + GAP) - GAP + 16, rows * (SLOT + GAP) - GAP + 16];
  const slot = (part, i) => {
    const warp = i * 4 + part;
    const block = warp < got.warps ? Math.floor(warp / got.perBlock) : null;
    const [x, y] = [8 + (i % ACROSS) * (SLOT + GAP), 8 + Math.floor(i / ACROSS) * (SLOT + GAP)];
    const box = { x, y, width: SLOT, height: SLOT, rx: 5 };
    if (block === null) return svg("rect", { ...box, class: "bim-slot" });
    return svg(
      "g",
      { class: `bim-s${block % 8}` },
      svg("rect", { ...box, class: "bim-rank" }),
      svg("text", { x: x + SLOT / 2, y: y + SLOT / 2 + 1, class: "bim-mark" }, `${block}`),
    );
  };
  const partition = (part) =>
    svg(
      "svg",
      { viewBox: `0 0 ${wide} ${high}`, class: "bim-partition", "aria-hidden": "true" },
      svg("rect", { x: 0.5, y: 0.5, width: wide - 1, height: high - 1, rx: 8, class: "bim-frame" }),
      times(perPart, (i) => slot(part, i)),
    );
  return h("div", { class: "bim-sm" }, times(4, partition));
}

const [W, H, LEFT, TOP, BASE] = [720, 214, 44, 30, 160];

// One bar per number of warps in a block; the chosen one is solid, the others are light.
export function curvePicture(gpu, s) {
  const warps = occupancyCurve(gpu, s);
  const step = (W - LEFT) / warps.length;
  const y = (value) => BASE - (value / gpu.warps) * (BASE - TOP);
  const chosen = Math.ceil(s.threads / 32) - 1;
  const bar = (value, i) =>
    svg("rect", {
      x: LEFT + i * step + 2,
      y: y(value),
      width: step - 4,
      height: BASE - y(value),
      class: i === chosen ? "bim-here" : "bim-bar",
    });
  const level = (value) => [
    svg("line", { x1: LEFT, x2: W, y1: y(value), y2: y(value), class: "bim-level" }),
    svg("text", { x: LEFT - 8, y: y(value) + 4, class: "bim-axis bim-end" }, `${value}`),
  ];
  const under = (threads) =>
    svg("text", { x: LEFT + (threads / 32 - 0.5) * step, y: BASE + 20, class: "bim-axis bim-middle" }, `${threads}`);
  return svg(
    "svg",
    { viewBox: `0 0 ${W} ${H}`, class: "bim-curve", "aria-hidden": "true" },
    [gpu.warps, gpu.warps / 2, 0].map(level),
    warps.map(bar),
    [256, 512, 768, 1024].map(under),
    svg("text", { x: LEFT, y: H - 6, class: "bim-axis" }, "threads in a block"),
    svg("text", { x: LEFT, y: 18, class: "bim-axis" }, "resident warps"),
  );
}

const count = (value) => (value === Infinity ? "any number" : value.toLocaleString("en-US"));

// What a block takes, what the SM has, how many fit: the row that decides says so in words, too.
export function limitsTable(got) {
  const rows = Object.keys(got.limits).map((name) => {
    const decides = got.limiters.includes(name);
    return h(
      "tr",
      { class: decides ? "bim-decides" : null },
      h("th", { scope: "row" }, name, decides && h("em", {}, " first to run out")),
      [got.cost[name], got.has[name], got.limits[name]].map((value) => h("td", {}, count(value))),
    );
  });
  return h(
    "div",
    { class: "bim-scroll bim-limits", tabindex: "0", role: "region", "aria-label": "What runs out first" },
    h(
      "table",
      {},
      h("caption", { class: "bim-sr" }, "Blocks that each resource allows"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["One SM", "a block takes", "there are", "blocks that fit"].map((word) => h("th", { scope: "col" }, word)),
        ),
      ),
      h("tbody", {}, rows),
    ),
  );
}

// Every bar of the curve in figures.
export const curveRows = (gpu, s) => occupancyCurve(gpu, s).map((warps, i) => [(i + 1) * 32, warps, warps / gpu.warps]);
