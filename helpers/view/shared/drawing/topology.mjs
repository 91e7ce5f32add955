// Topology: ranks and their links; in a step the links in use are thick, and chunks travel along them.
import { badge, canvas, label, moved, rankClass, rect, set, svg } from "../page/dom.mjs";
import { eased, shown } from "../page/motion.mjs";
import { nbytesText } from "../page/numbers.mjs";
import { carried } from "../schedules/load.mjs";
import { sign } from "../schedules/schedule.mjs";
import { cell } from "./cell.mjs";
import { along, figures, layout, links } from "./layout.mjs";
import { cellLook } from "./memory.mjs";
import { NIC } from "./nodes.mjs";

const ARRIVED = 0.56; // where along its link a chunk rests: short of the arrowhead; and where it leaves its node, of the NIC it goes to
const LEAVING = 0.36;

const trail = (kind, points) =>
  svg("path", { class: kind, d: `M${points.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}` });

function arrow(points, size) {
  const tip = points[points.length - 1];
  const back = along(points, 1 - 8 / Math.max(8, points.length));
  const angle = (Math.atan2(tip.y - back.y, tip.x - back.x) * 180) / Math.PI;
  const head = svg("path", {
    class: "bim-arrow",
    d: `M0 0L${-size} ${-size * 0.55}V${size * 0.55}Z`,
    transform: `rotate(${angle.toFixed(1)})`,
  });
  return moved(svg("g", {}, head), tip.x, tip.y);
}

// The chunks of one message as little cells, the same as in memory; several are a stack with their number.
function packet(view, step, { src, chunks }, size, room) {
  const { collective, nchunks, nswitches } = view.schedule;
  const columns = chunks.map((c) => view.columns.find(({ slots }) => slots.some(({ chunk }) => chunk === c)));
  const held = columns.map((column, i) =>
    cellLook(view, step - 1, src, column).slots.filter(({ chunk }) => chunk === chunks[i]),
  );
  const [w, h] = [Math.min(Math.max(12, room), size * 0.95, Math.max(16, 6 + 7 * held[0].length)), size * 0.46];
  const stack = held
    .slice(0, 3)
    .map((slots, i) => moved(cell(slots, w, h), 3 * i - w / 2, -h / 2 - 3 * i))
    .reverse();
  const name = chunks.length > 1 ? `×${chunks.length}` : columns[0].label;
  const named = size >= 30 && nchunks > 1 && !nswitches && collective !== "all_to_all"; // many meet at a switch
  return svg("g", { class: "bim-packet" }, stack, named && label("bim-tag bim-middle", 0, h / 2 + 11, name));
}

// The boxes of nodes and their NICs; the layout has none where there are no nodes.
function furniture({ boxes = [], nics = [] }) {
  return [
    boxes.map(({ x, y, width, height }) => rect("bim-node", x, y, width, height, 6)),
    nics.map(({ x, y }) => rect("bim-nic", x - NIC / 2, y - NIC / 2, NIC, NIC, 2)),
  ];
}

// What every link carried so far: as thick as its share of the most loaded one; with few links, the bytes in figures.
function loads(view, map, state) {
  const { links: all } = carried(view, state);
  const most = Math.max(...all.map(({ bytes }) => bytes));
  const paths = all.map(({ src, dst }) => map.curve(src, dst));
  return [
    all.map(({ src, bytes }, i) =>
      svg(
        "g",
        { class: rankClass(src, view.schedule.nranks) },
        set(trail("bim-carry", paths[i]), { style: `stroke-width:${(1 + (6 * bytes) / most).toFixed(1)}` }),
        arrow(paths[i], 8),
      ),
    ),
    all.length <= 8 &&
      !map.boxes &&
      figures(
        all.map(({ bytes }) => nbytesText(bytes)),
        paths,
        map,
      ).map(({ x, y, text }) => label("bim-tag bim-middle", x, y + 4, text)),
  ];
}

// -> { node, show(position, load: draw what was carried so far instead of what moves) }: drawn once, then only what changes is touched.
export function topologyView(view, width, height) {
  const { nranks } = view.schedule;
  const map = layout(view.schedule, width, height, view.link);
  const nodes = map.nodes.map(({ x, y }, rank) => badge(rank, nranks, x, y, map.size, sign(view.schedule, rank)));
  const [active, flying] = [svg("g"), svg("g")];
  const [boxes, nics] = furniture(map);
  const node = canvas(
    "bim-topology",
    width,
    height,
    "Who sends to whom; the sentence below says the same",
    boxes,
    links(view.schedule).map(([src, dst]) => trail("bim-link", map.curve(src, dst))),
    active,
    nics,
    flying, // under the squares: no chunk hides a number
    nodes,
  );
  let drawn = "";
  let moves = [];
  const draw = (step) => {
    const sends = view.cost.steps[step - 1]?.messages ?? [];
    const paths = sends.map(({ src, dst }) => map.curve(src, dst));
    active.replaceChildren(
      ...sends.map(({ src }, i) =>
        svg(
          "g",
          { class: rankClass(src, nranks) },
          trail("bim-carry", paths[i]),
          arrow(paths[i], map.size >= 30 ? 10 : 7),
        ),
      ),
    );
    moves = sends.map((m, i) => [
      packet(view, step, m, map.size, (m.away ? 0.3 : 0.55) * length(paths[i])),
      paths[i],
      m.away && map.boxes ? LEAVING : ARRIVED,
    ]);
    flying.replaceChildren(...moves.map(([flyer]) => flyer));
    const busy = new Set(sends.flatMap(({ src, dst }) => [src, dst]));
    nodes.forEach((one, rank) => one.classList.toggle("bim-dim", step > 0 && !busy.has(rank)));
  };
  const drawLoad = (state) => {
    moves = [];
    flying.replaceChildren();
    active.replaceChildren(...loads(view, map, state).flat().filter(Boolean));
    nodes.forEach((one) => one.classList.remove("bim-dim"));
  };
  const show = (position, load = false) => {
    const { step, state } = shown(position);
    const key = load ? `load ${state}` : `${step}`;
    if (key !== drawn) (load ? () => drawLoad(state) : () => draw(step))();
    drawn = key;
    for (const [flyer, points, rest] of moves) {
      const { x, y } = along(points, (1 - step + eased(position)) * rest);
      moved(flyer, x, y);
    }
  };
  return { node, show };
}

const length = (points) =>
  Math.hypot(points[0].x - points[points.length - 1].x, points[0].y - points[points.length - 1].y);
