// Where ranks stand and how links run between them: a circle, a star or layers, told from the links that a schedule uses.

const key = (src, dst) => `${src}>${dst}`;

// Every link used in any step, each direction once: [[src, dst]]
export function links(s) {
  const seen = new Map();
  for (const step of s.steps) for (const { src, dst } of step) seen.set(key(src, dst), [src, dst]);
  return [...seen.values()];
}

// Undirected neighbours when the links form one tree over all ranks, else null.
function tree(s, used) {
  const near = Array.from({ length: s.nranks }, () => new Set());
  for (const [a, b] of used) near[a]?.add(b), near[b]?.add(a);
  const pairs = near.reduce((sum, set) => sum + set.size, 0) / 2;
  return !s.nswitches && pairs === s.nranks - 1 && depths(near, 0).every((d) => d >= 0) ? near : null;
}

function depths(near, root) {
  const depth = near.map(() => -1);
  const queue = [root];
  depth[root] = 0;
  for (const at of queue) for (const next of near[at]) if (depth[next] < 0) (depth[next] = depth[at] + 1), queue.push(next);
  return depth;
}

// The kind of picture: "ring" | "star" | "layers" | "circle"; root: who stands in the middle or on top.
export function shape(s) {
  const used = links(s);
  const steps = used.map(([a, b]) => (b - a + s.nranks) % s.nranks);
  if (!s.nswitches && steps.every((d) => d === 1 || d === s.nranks - 1)) return { kind: "ring" };
  const near = tree(s, used);
  if (!near) return { kind: "circle" };
  const heights = near.map((_, rank) => Math.max(...depths(near, rank)));
  const root = s.root ?? heights.indexOf(Math.min(...heights));
  return { kind: heights[root] === 1 && s.nranks > 4 ? "star" : "layers", root, near };
}

const around = (n, i, cx, cy, radius, turn = -Math.PI / 2) => {
  const angle = turn + (2 * Math.PI * i) / n;
  return { x: cx + radius * Math.cos(angle), y: cy + radius * Math.sin(angle) };
};

// Children hang below their parent, leaves side by side.
function layered({ near, root }, width, height, pad) {
  const spots = [];
  const depth = depths(near, root);
  const deepest = Math.max(1, ...depth);
  let leaf = 0;
  const place = (at, from) => {
    const kids = [...near[at]].filter((n) => n !== from).sort((a, b) => a - b).map((n) => place(n, at));
    const column = kids.length ? (Math.min(...kids) + Math.max(...kids)) / 2 : leaf++;
    spots[at] = { x: column, y: pad + ((height - 2 * pad) * depth[at]) / deepest };
    return column;
  };
  place(root, -1);
  const gap = leaf > 1 ? (width - 2 * pad) / (leaf - 1) : 0;
  return spots.map(({ x, y }) => ({ x: leaf > 1 ? pad + x * gap : width / 2, y }));
}

// -> { kind, size: side of a rank's square, nodes: [{ x, y }], curve(src, dst): points along the link }
export function layout(s, width, height) {
  const form = shape(s);
  const size = s.nranks <= 4 ? 40 : s.nranks <= 8 ? 32 : 24;
  const radius = Math.min(width, height - 8) / 2 - size / 2 - 7;
  const [cx, cy] = [width / 2, height / 2];
  const turn = s.nranks === 2 ? Math.PI : -Math.PI / 2;
  let nodes = Array.from({ length: s.nranks }, (_, r) => around(s.nranks, r, cx, cy, radius, turn));
  if (form.kind === "layers") nodes = layered(form, width, height, size / 2 + 8);
  if (form.kind === "star") nodes = star(s.nranks, form.root, cx, cy, radius);
  for (let i = 0; i < s.nswitches; i++) nodes.push(around(s.nswitches, i, cx, cy, s.nswitches > 1 ? radius * 0.3 : 0));
  const both = new Set(links(s).map(([a, b]) => key(a, b)));
  const bend = (src, dst) => bends(form.kind, s.nranks, src, dst, radius, both.has(key(dst, src)));
  return { kind: form.kind, size, nodes, curve: (src, dst) => curve(nodes[src], nodes[dst], bend(src, dst), size) };
}

function star(n, root, cx, cy, radius) {
  const rim = Array.from({ length: n }, (_, r) => r).filter((r) => r !== root);
  const nodes = [];
  nodes[root] = { x: cx, y: cy };
  rim.forEach((rank, i) => { nodes[rank] = around(n - 1, i, cx, cy, radius); });
  return nodes;
}

// How far a link bows to the left of its direction, as pixels for a ring and as a share of its length elsewhere.
function bends(kind, n, src, dst, radius, twoWay) {
  if (kind === "ring") {
    const sagitta = radius * (1 - Math.cos(Math.PI / n));
    return { pixels: (dst - src + n) % n === 1 ? 2 * sagitta : 0.4 * sagitta };
  }
  return { share: twoWay ? 0.16 : kind === "circle" ? 0.1 : 0 };
}

// A quadratic arc from square to square, as points evenly spaced in its parameter, clear of both squares.
function curve(a, b, { pixels, share }, size) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const length = Math.hypot(dx, dy) || 1;
  const bow = pixels ?? share * length;
  const control = { x: (a.x + b.x) / 2 + (dy / length) * bow, y: (a.y + b.y) / 2 - (dx / length) * bow };
  const at = (t) => ({
    x: (1 - t) ** 2 * a.x + 2 * t * (1 - t) * control.x + t ** 2 * b.x,
    y: (1 - t) ** 2 * a.y + 2 * t * (1 - t) * control.y + t ** 2 * b.y,
  });
  const clear = (p, q) => Math.max(Math.abs(p.x - q.x), Math.abs(p.y - q.y)) > size / 2 + 4;
  const points = Array.from({ length: 61 }, (_, i) => at(i / 60)).filter((p) => clear(p, a) && clear(p, b));
  return points.length > 1 ? points : [at(0.4), at(0.6)];
}

// A point a share of the way along, by parameter.
export function along(points, share) {
  const at = Math.min(1, Math.max(0, share)) * (points.length - 1);
  const [p, q] = [points[Math.floor(at)], points[Math.ceil(at)]];
  const rest = at - Math.floor(at);
  return { x: p.x + (q.x - p.x) * rest, y: p.y + (q.y - p.y) * rest };
}
