// Topology: ranks and their links; in a step the links in use are thick, and chunks travel along them.
import { eased, shown } from "./clock.mjs";
import { set, svg } from "./dom.mjs";
import { badge, cell, rankClass } from "./draw-cell.mjs";
import { cellLook } from "./draw-memory.mjs";
import { along, layout, links } from "./layout.mjs";

const path = (points) => `M${points.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;

function arrowhead(points, size) {
  const tip = points[points.length - 1];
  const back = along(points, 1 - 8 / Math.max(8, points.length));
  const angle = (Math.atan2(tip.y - back.y, tip.x - back.x) * 180) / Math.PI;
  return svg("path", { class: "bim-arrow", d: `M0 0L${-size} ${-size * 0.55}L${-size} ${size * 0.55}Z`, transform: `translate(${tip.x.toFixed(1)} ${tip.y.toFixed(1)}) rotate(${angle.toFixed(1)})` });
}

// The chunks of one message as little cells, the same as in memory; several are a stack with their number.
function packet(view, step, message, size, points) {
  const columns = message.chunks.map((c) => view.columns.find((column) => column.slots.some((slot) => slot.chunk === c)));
  const held = columns.map((column, i) => {
    const { slots } = cellLook(view, step - 1, message.src, column);
    const own = view.schedule.collective === "all_to_all" ? slots.filter((slot) => slot.chunk === message.chunks[i]) : slots;
    return own;
  });
  const [from, to] = [points[0], points[points.length - 1]];
  const room = Math.max(12, 0.55 * Math.hypot(to.x - from.x, to.y - from.y));
  const w = Math.min(room, size * 0.95, Math.max(16, 6 + 7 * held[0].length));
  const h = size * 0.46;
  const stack = held.slice(0, 3).map((slots, i) => set(cell(slots, w, h), { transform: `translate(${(-w / 2 + 3 * i).toFixed(1)} ${(-h / 2 - 3 * i).toFixed(1)})` })).reverse();
  const label = message.chunks.length > 1 ? `×${message.chunks.length}` : `${columns[0].label}`;
  const tag = size >= 30 && view.schedule.nchunks > 1 && svg("text", { class: "bim-tag bim-middle", x: 0, y: h / 2 + 11 }, label);
  return svg("g", { class: "bim-packet" }, stack, tag);
}

// -> { node, show(position) }: drawn once, then only what moves is touched.
export function topologyView(view, width, height) {
  const map = layout(view.schedule, width, height);
  const idle = links(view.schedule).map(([src, dst]) => svg("path", { class: "bim-link", d: path(map.curve(src, dst)) }));
  const nodes = map.nodes.map(({ x, y }, rank) => badge(rank, view.schedule.nranks, x, y, map.size));
  const active = svg("g");
  const node = svg("svg", { class: "bim-topology", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Who sends to whom; the sentence below says the same" }, idle, active, nodes);
  const flying = svg("g");
  node.append(flying);
  let drawn = -1;
  let moves = [];
  const draw = (step) => {
    drawn = step;
    const sends = view.cost.steps[step - 1]?.messages ?? [];
    moves = sends.map((m) => {
      const points = map.curve(m.src, m.dst);
      return { points, packet: packet(view, step, m, map.size, points) };
    });
    active.replaceChildren(...sends.map((m, i) => svg("g", { class: `bim-active ${m.src < view.schedule.nranks ? rankClass(m.src) : "bim-switch"}` },
      svg("path", { class: "bim-carry", d: path(moves[i].points) }), arrowhead(moves[i].points, map.size >= 30 ? 10 : 7))));
    flying.replaceChildren(...moves.map((m) => m.packet));
    const busy = new Set(sends.flatMap((m) => [m.src, m.dst]));
    nodes.forEach((n, rank) => n.classList.toggle("bim-dim", step > 0 && !busy.has(rank)));
  };
  const show = (position) => {
    const { step } = shown(position);
    if (step !== drawn) draw(step);
    const share = step ? 1 - (step - eased(position)) : 0;
    for (const { points, packet: one } of moves) {
      const { x, y } = along(points, share * 0.56);
      set(one, { transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` });
    }
  };
  return { node, show };
}
