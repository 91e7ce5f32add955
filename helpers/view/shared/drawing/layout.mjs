// Where ranks stand and how links run between them: a circle, a star or layers, told from the links that a schedule uses. Where the
// picture is flat the circle is an ellipse, and layers run from left to right.
import { times } from "../page/numbers.mjs";
import { registers } from "../schedules/schedule.mjs";
import { evenly, radii } from "./ellipse.mjs";
import { boxed, nodesLayout } from "./nodes.mjs";

const SMALL = 204; // pixels: a picture lower or narrower than this has smaller squares

// Every link used in any step, each direction once: [[src, dst]]
export function links(s) {
  const seen = new Map(s.steps.flat().map(({ src, dst }) => [`${src}>${dst}`, [src, dst]]));
  return [...seen.values()];
}

// How far each rank is from a root, by links; -1 where none leads.
function depths(near, root) {
  const depth = near.map((_, rank) => (rank === root ? 0 : -1));
  const queue = [root];
  for (const at of queue)
    for (const next of near[at]) {
      if (depth[next] >= 0) continue;
      depth[next] = depth[at] + 1;
      queue.push(next);
    }
  return depth;
}

// The kind of picture: "ring" | "star" | "layers" | "circle"; root: who stands in the middle or on top.
export function shape(s) {
  const used = links(s);
  if (s.nswitches) return { kind: "circle" };
  if (used.every(([a, b]) => [1, s.nranks - 1].includes((b - a + s.nranks) % s.nranks))) return { kind: "ring" };
  const near = times(s.nranks, () => new Set());
  for (const [a, b] of used) {
    near[a].add(b);
    near[b].add(a);
  }
  const heights = near.map((_, rank) => Math.max(...depths(near, rank)));
  const root = s.root ?? heights.indexOf(Math.min(...heights));
  const isTree =
    near.reduce((sum, set) => sum + set.size, 0) === 2 * (s.nranks - 1) && !depths(near, root).includes(-1);
  return { kind: !isTree ? "circle" : heights[root] === 1 && s.nranks > 4 ? "star" : "layers", root, near };
}

// Children hang below their parent, leaves side by side; or right of it, leaves below each other, where that leaves more room.
function layered({ near, root }, width, height, pad) {
  const spots = [];
  const depth = depths(near, root);
  let leaves = 0;
  const hang = (at, from) => {
    const kids = [...near[at]]
      .filter((n) => n !== from)
      .sort((a, b) => a - b)
      .map((n) => hang(n, at));
    spots[at] = kids.length ? (kids[0] + kids[kids.length - 1]) / 2 : leaves++;
    return spots[at];
  };
  hang(root);
  const share = (part, whole, length) => (whole ? pad + ((length - 2 * pad) * part) / whole : length / 2);
  const most = Math.max(...depth);
  const room = (across, along) => Math.min((1.4 * across) / (leaves - 1), along / most); // a link needs more than two leaves
  const flat = room(height, width) > 1.2 * room(width, height);
  return spots.map((leaf, rank) =>
    flat
      ? { x: share(depth[rank], most, width), y: share(leaf, leaves - 1, height) }
      : { x: share(leaf, leaves - 1, width), y: share(depth[rank], most, height) },
  );
}

// -> { kind, size: side of a rank's square, nodes: [{ x, y }], curve(src, dst): points along the link };
// with nodes also their boxes and NICs
export function layout(s, width, height, link) {
  if (boxed(s, link)) return nodesLayout(s, link, width, height);
  const form = shape(s);
  const squares = registers(s) ? 2 * s.nranks : s.nranks;
  const size = Math.max(24, (squares <= 4 ? 40 : squares <= 8 ? 32 : 24) - (Math.min(width, height) < SMALL ? 8 : 0));
  const [rx, ry] = radii(width / 2 - size / 2 - 7, height / 2 - 4 - size / 2 - 7);
  const first = -Math.PI / (s.nranks === 2 ? 1 : 2); // rank 0 on top; two ranks side by side
  const around = (i, n, far) => {
    const angle = evenly(n, rx, ry, first)[i % n];
    return { x: width / 2 + far * rx * Math.cos(angle), y: height / 2 + far * ry * Math.sin(angle) };
  };
  const onRim = (rank) => {
    if (form.kind !== "star") return around(rank, s.nranks, 1);
    return around(rank - (rank > form.root), s.nranks - 1, rank === form.root ? 0 : 1);
  };
  const nodes = form.kind === "layers" ? layered(form, width, height, size / 2 + 8) : times(s.nranks, onRim);
  const inwards = registers(s) ? 0.5 : s.nswitches > 1 ? 0.3 : 0; // registers stand before their own rank
  nodes.push(...times(s.nswitches, (i) => around(i, s.nswitches, inwards)));
  const twoWay = links(s).some(([a, b]) => links(s).some(([c, d]) => a === d && b === c));
  const round = Math.tan(Math.PI / 2 / s.nranks); // a share of a circle between two of its ranks; the like of it on an ellipse
  const outer = Math.max(Math.min(round, 0.14), (round * Math.min(rx, ry)) / Math.max(rx, ry));
  const bow = (src, dst) => {
    if (form.kind === "ring") return outer * ((dst - src + s.nranks) % s.nranks === 1 ? 1 : 0.2);
    return twoWay ? 0.16 : form.kind === "circle" ? 0.1 : 0;
  };
  return { kind: form.kind, size, nodes, curve: (src, dst) => curve(nodes[src], nodes[dst], bow(src, dst), size) };
}

// A quadratic arc from square to square, bowed to the left by a share of its length, clear of both squares.
function curve(a, b, bow, size) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const at = (t) => {
    const side = 2 * t * (1 - t) * bow;
    return { x: a.x + t * dx + side * dy, y: a.y + t * dy - side * dx };
  };
  const clear = (p, q) => Math.max(Math.abs(p.x - q.x), Math.abs(p.y - q.y)) > size / 2 + 4;
  const points = times(61, (i) => at(i / 60)).filter((p) => clear(p, a) && clear(p, b));
  return points.length > 1 ? points : [at(0.4), at(0.6)];
}

// A point a share of the way along.
export function along(points, share) {
  const at = Math.min(1, Math.max(0, share)) * (points.length - 1);
  const [p, q] = [points[Math.floor(at)], points[Math.ceil(at)]];
  return { x: p.x + (q.x - p.x) * (at % 1), y: p.y + (q.y - p.y) * (at % 1) };
}

const PLACES = [0.5, 0.36, 0.64, 0.28, 0.72]; // where along its link a figure may stand
const [LETTER, LINE] = [6.4, 12]; // pixels of a figure's letters

// Of every path its text where it lies on no other and on no rank; none at all where one has no such place: the table has them.
export function figures(texts, paths, { nodes, size }) {
  const taken = nodes.map(({ x, y }) => ({ x, y, w: size, h: size }));
  const apart = (a) => taken.every((b) => Math.abs(a.x - b.x) * 2 >= a.w + b.w || Math.abs(a.y - b.y) * 2 >= a.h + b.h);
  const found = texts.map((text, i) => {
    const boxes = PLACES.map((place) => ({ ...along(paths[i], place), w: LETTER * text.length, h: LINE, text }));
    const box = boxes.find(apart);
    if (box) taken.push(box);
    return box;
  });
  return found.every(Boolean) ? found : [];
}
