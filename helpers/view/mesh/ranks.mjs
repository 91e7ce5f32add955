// The ranks in their nodes: a button each, coloured and lettered by its group on the axis on show.
import { h } from "../shared/page/dom.mjs";
import { count, times } from "../shared/page/numbers.mjs";
import { coordinates, groupOf, groups, nodesOf, nranksOf, sizeOf } from "./axes.mjs";

const FEW = 2; // nodes that stand beside each other with their GPUs in one line
const WIDE = 16; // cells in a line of the page
const SLIM = 8; // and of a telephone

// "A" to "Z", "a" to "f": at most 32 groups.
export const letterOf = (i) => String.fromCharCode(i < 26 ? 65 + i : 71 + i);

const shared = (s) => [...s.axes.map(([name]) => name), "expert"].filter((name) => sizeOf(s, name) > 1);

// By rank: the group on the axis on show, and whether it is lit; or the axes on which it meets the chosen rank.
export function marks(s) {
  const found = times(nranksOf(s), () => ({ group: -1, lit: false, met: [] }));
  const axis = s.axis && sizeOf(s, s.axis) > 1 ? s.axis : "";
  if (axis) {
    groups(s, axis).forEach((ranks, i) => {
      const lit = s.rank === null || ranks.includes(s.rank);
      for (const rank of ranks) Object.assign(found[rank], { group: i, lit });
    });
  }
  if (s.rank !== null)
    for (const name of shared(s))
      for (const rank of groupOf(s, name, s.rank)) if (rank !== s.rank) found[rank].met.push(name);
  return found;
}

// Words for those who hear the page.
const unseen = (words) => h("span", { class: "bim-sr" }, words);

function cell(s, rank, { group, lit, met }, does) {
  const at = coordinates(s, rank);
  const axes = s.axes.filter(([, size]) => size > 1);
  const named = axes.map(([name]) => `${name} ${at[name]}`).join(", ");
  const own = rank === s.rank;
  const more = [named, met.length && `met on ${met.join(", ")}`].filter(Boolean).join(", ");
  const kind = [lit && `bim-s${group % 8} bim-mesh-lit`, met.length && "bim-mesh-met", own && "bim-mesh-own"];
  const sign = group >= 0 ? letterOf(group) : met.map((name) => name[0]).join("");
  return h(
    "button",
    {
      type: "button",
      class: ["bim-mesh-rank", ...kind.filter(Boolean)].join(" "),
      "aria-pressed": `${own}`,
      tabindex: rank === (s.rank ?? 0) ? 0 : -1,
      "data-rank": rank,
      click: () => does.press(rank),
    },
    unseen("rank "),
    h("b", {}, `${rank}`),
    unseen(group >= 0 ? ", group " : ", "),
    h("i", {}, sign || "\u00a0"),
    unseen(`, ${more}`),
    h("small", { "aria-hidden": "true" }, axes.map(([name]) => at[name]).join("·") || "\u00a0"),
  );
}

// Cells of a node's line, and nodes of a line: on the page, and on a telephone.
export function layout({ gpus }, nodes) {
  const columns = nodes <= FEW ? Math.min(8, gpus) : Math.min(4, gpus);
  const slim = Math.min(SLIM, gpus);
  return { columns, boxes: nodes <= FEW ? nodes : Math.min(nodes, WIDE / columns), slim, slimBoxes: SLIM / slim };
}

// Arrows go from rank to rank: one stop of the tab key for all of them.
function onKey(event) {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const { rank } = event.target.dataset;
  if (!by || rank === undefined) return;
  const next = event.currentTarget.querySelector(`[data-rank="${Number(rank) + by}"]`);
  if (!next) return;
  event.preventDefault();
  event.currentTarget.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

export function nodesPicture(s, does) {
  const [nranks, nodes, told] = [nranksOf(s), nodesOf(s), marks(s)];
  const { columns, boxes, slim, slimBoxes } = layout(s, nodes);
  const inside = (node) => times(Math.min(s.gpus, nranks - node * s.gpus), (i) => node * s.gpus + i);
  const all = times(nodes, (node) =>
    h(
      "div",
      { class: "bim-mesh-node" },
      h("p", { class: "bim-mesh-name" }, `node ${node}`),
      h(
        "div",
        { class: "bim-mesh-cells" },
        inside(node).map((rank) => cell(s, rank, told[rank], does)),
      ),
    ),
  );
  const label = `${count(nranks, "rank")} on ${count(nodes, "node")}`;
  const root = h("div", { class: "bim-mesh-nodes", role: "group", "aria-label": label, keydown: onKey }, all);
  const lines = { columns, boxes, slim, "slim-boxes": Math.min(slimBoxes, nodes) };
  for (const [name, value] of Object.entries(lines)) root.style.setProperty(`--${name}`, `${value}`);
  return root;
}
