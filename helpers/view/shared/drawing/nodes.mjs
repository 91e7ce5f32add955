// Where ranks stand in nodes: a box a node, its ranks in a line, their NICs on its edge towards the middle of the picture. Messages
// inside arch behind the ranks; those that leave go by the sender's NIC and the receiver's.
import { times } from "../page/numbers.mjs";
import { nicOf } from "../schedules/price.mjs";

const EDGE = 28; // from a box's edge to the end of its share of the picture: half of the aisle between NICs
export const NIC = 12; // the side of its square
const SLIM = 220; // pixels: in a picture no wider than this two nodes lie below each other

// One node's own coordinates: u along the line of ranks, v towards the NICs; and how they lie in the picture.
function frameOf(index, count, width, height) {
  const upright = count === 2 && width > SLIM;
  const cols = upright ? 2 : Math.ceil(count / 2);
  const [w, h] = [width / cols, upright ? height : height / 2];
  const [x, y] = [((index % cols) + 0.5) * w, (Math.floor(index / cols) + 0.5) * h];
  const towards = (upright ? index : Math.floor(index / cols)) ? -1 : 1;
  const [long, deep] = upright ? [h, w] : [w, h];
  return { long, deep, to: (u, v) => (upright ? { x: x + towards * v, y: y + u } : { x: x + u, y: y + towards * v }) };
}

function bezier(points, n) {
  return times(n, (i) => {
    const t = i / (n - 1);
    const at = (axis) => {
      let row = points.map((p) => p[axis]);
      while (row.length > 1) row = row.slice(1).map((b, k) => row[k] + t * (b - row[k]));
      return row[0];
    };
    return { x: at("x"), y: at("y") };
  });
}

// -> { kind: "nodes", size, nodes: [{ x, y }], boxes: [{ x, y, width, height }], nics: [{ x, y, id }], curve(src, dst) }
export function nodesLayout(s, link, width, height) {
  const { gpus, across } = link;
  const count = s.nranks / gpus;
  const frames = times(count, (i) => frameOf(i, count, width, height));
  const { long, deep } = frames[0];
  const pitch = Math.min(40, (long - 10) / gpus);
  const size = Math.min(28, pitch - 4);
  const edge = deep / 2 - EDGE;
  const row = edge - (across ? NIC + 8 : 8) - size / 2;
  const room = row - size / 2 + deep / 2 - 8 - size / 3; // a chunk that rides on the outermost arch stays in the picture
  const arch = (far) => Math.min(room, 12 + 0.24 * pitch * far);
  const back = row - size / 2 - arch(gpus - 1) - 6;
  const along = (i) => (i - (gpus - 1) / 2) * pitch;
  const place = (rank) => [frames[Math.floor(rank / gpus)], along(rank % gpus)];
  const nicAt = (rank) => {
    const mates = times(gpus, (i) => i).filter((i) => `${nicOf(link, i)}` === `${nicOf(link, rank % gpus)}`);
    return (along(mates[0]) + along(mates[mates.length - 1])) / 2;
  };
  const inside = (src, dst) => {
    const [[frame, a], [, b]] = [place(src), place(dst)];
    const way = Math.sign(b - a);
    const [from, into] = [a + 0.1 * way * size, b - 0.3 * way * size];
    const top = row - size / 2 - 2;
    const high = top - 1.33 * arch(Math.abs(a - b) / pitch) + (way > 0 ? 0 : 5);
    return bezier([frame.to(from, top), frame.to(from, high), frame.to(into, high), frame.to(into, top)], 61);
  };
  const outside = (src, dst) => {
    const [[one, a], [two, b]] = [place(src), place(dst)];
    const [from, into] = [one.to(nicAt(src) + 4, edge + NIC / 2), two.to(nicAt(dst) - 4, edge + NIC / 2)];
    const reach = edge + NIC / 2 + Math.min(1.4 * EDGE, 0.3 * Math.hypot(from.x - into.x, from.y - into.y));
    const middle = bezier([from, one.to(nicAt(src) + 4, reach), two.to(nicAt(dst) - 4, reach), into], 41);
    return [one.to(a, row + size / 2 + 1), ...middle, two.to(b, row + size / 2 + 3)];
  };
  const box = (frame) => {
    const [p, q] = [frame.to((-gpus * pitch) / 2 - 1, back), frame.to((gpus * pitch) / 2 + 1, edge)];
    return { x: Math.min(p.x, q.x), y: Math.min(p.y, q.y), width: Math.abs(p.x - q.x), height: Math.abs(p.y - q.y) };
  };
  const nics = times(s.nranks, (rank) => ({ ...place(rank)[0].to(nicAt(rank), edge), id: `${nicOf(link, rank)}` }));
  return {
    kind: "nodes",
    size,
    nodes: times(s.nranks, (rank) => place(rank)[0].to(place(rank)[1], row)),
    boxes: frames.map(box),
    nics: across ? nics.filter(({ id }, i) => nics.findIndex((other) => other.id === id) === i) : [],
    curve: (src, dst) => (Math.floor(src / gpus) === Math.floor(dst / gpus) ? inside : outside)(src, dst),
  };
}

// Are there boxes to draw? Two nodes of two ranks are the least that says something.
export const boxed = (s, link) => link?.gpus > 1 && link.gpus < s.nranks && !s.nswitches;
