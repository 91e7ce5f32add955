// What is drawn over both tables: curves from the cells that a chosen cell is made of, and the cells on their way while it plays.
import { h, rankClass, set, svg } from "../../shared/page/dom.mjs";

const MANY = 240; // more cells than this travel as rows

const find = (table, at) => table.querySelector(`[data-at="${at}"]`)?.closest(".bim-box");

function box(node, frame) {
  const [a, b] = [node.getBoundingClientRect(), frame.getBoundingClientRect()];
  return { x: a.left - b.left, y: a.top - b.top, w: a.width, h: a.height };
}

// Sideways where the tables stand side by side, downwards where they are stacked.
function curve(a, b) {
  const beside = b.x > a.x + a.w && b.x - a.x - a.w > b.y - a.y - a.h;
  const [x1, y1, x2, y2] = beside
    ? [a.x + a.w, a.y + a.h / 2, b.x, b.y + b.h / 2]
    : [a.x + a.w / 2, a.y + a.h, b.x + b.w / 2, b.y];
  const [dx, dy] = beside ? [Math.max(18, (x2 - x1) / 2), 0] : [0, Math.max(18, (y2 - y1) / 2)];
  return `M${x1} ${y1}C${x1 + dx} ${y1 + dy} ${x2 - dx} ${y2 - dy} ${x2} ${y2}`;
}

// from: [[rank, slot]], to: [rank, slot]
function point(layer, from, to) {
  const { tables, lines, stage } = layer;
  const { before, after } = tables();
  const target = find(after, to);
  lines.replaceChildren(
    ...(!target
      ? []
      : from.flatMap((at) => {
          const source = find(before, at);
          return source
            ? [
                svg("path", {
                  class: `bim-line ${rankClass(at[0], Infinity)}`,
                  d: curve(box(source, stage), box(target, stage)),
                }),
              ]
            : [];
        })),
  );
  const sources = new Set(from.map(String));
  for (const cell of before.querySelectorAll("[data-at]"))
    cell.closest(".bim-box").classList.toggle("bim-source", sources.has(cell.dataset.at));
  for (const cell of after.querySelectorAll("[data-at]"))
    cell.classList.toggle("bim-chosen", cell.dataset.at === `${to}`);
}

// cells: [rank][slot] of { from }. -> show(share): everything that share of its way along, 1 is there and gone
function launch(layer, cells) {
  const { tables, stage, flight } = layer;
  const { before, after } = tables();
  const ways = new Map();
  const count = cells.flat().reduce((sum, { from }) => sum + from.length, 0);
  cells.forEach((row, rank) =>
    row.forEach(({ from }, slot) =>
      from.forEach(([r, i]) => {
        const key = count > MANY ? `${r}>${rank}` : `${r},${i}>${rank},${slot}`;
        if (!ways.has(key))
          ways.set(key, { r, a: box(find(before, [r, i]), stage), b: box(find(after, [rank, slot]), stage) });
      }),
    ),
  );
  const packets = [...ways.values()].map(({ r, a, b }) => ({ a, b, node: h("i", { class: `bim-r${r % 8}` }) }));
  flight.replaceChildren(...packets.map(({ node }) => node));
  return (share) => {
    if (share >= 1) flight.replaceChildren();
    else
      for (const { a, b, node } of packets) {
        const [x, y] = [
          a.x + a.w / 2 + (b.x + b.w / 2 - a.x - a.w / 2) * share,
          a.y + a.h / 2 + (b.y + b.h / 2 - a.y - a.h / 2) * share,
        ];
        set(node, { style: `transform:translate(${x.toFixed(1)}px,${y.toFixed(1)}px)` });
      }
  };
}

// node: laid over the stage; before(), after(): the tables of the moment
export function overlay(stage, tables) {
  const layer = { tables, stage };
  layer.point = (from, to) => point(layer, from, to);
  layer.launch = (cells) => launch(layer, cells);
  layer.lines = svg("svg", { class: "bim-lines", "aria-hidden": "true" });
  layer.flight = h("div", { class: "bim-flight", "aria-hidden": "true" });

  return { nodes: [layer.lines, layer.flight], point: layer.point, launch: layer.launch };
}
