// What stands still: the axes with their sizes and their order, the room for the ranks, the words, tools, the table.
import { chooser, h, said } from "../shared/page/dom.mjs";
import { count } from "../shared/page/numbers.mjs";
import { table, tools, twin } from "../shared/page/tools.mjs";
import { ALL, CALLS, crossing, groups, MOST, NODES, nodesIn, sizeOf, where } from "./axes.mjs";
import { encode, python } from "./link.mjs";
import { letterOf } from "./ranks.mjs";

const SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64];
const NOTE =
  "Ranks are numbered as torch's DeviceMesh numbers them: neighbours lie on the innermost axis. Experts are spread over neighbouring " +
  "data ranks and are no factor of the number of ranks. Letters name groups.";

// What is chosen is among what is offered.
const among = ({ show }, all, value) =>
  show(
    [...new Set([...all, value])].toSorted((a, b) => a - b),
    value,
  );

// One axis: its button, its size, two buttons to move it, and its groups in words.
function rowOf(axis, does) {
  const name = h("button", { type: "button", class: "bim-mesh-axis", click: () => does.light(axis) }, axis);
  const size = chooser(`Ranks on ${axis}`, (value) => does.resize(axis, value));
  const move = (by, sign, words) =>
    h(
      "button",
      {
        type: "button",
        class: "bim-button bim-mesh-move",
        "aria-label": `${axis}: ${words}`,
        title: words,
        click: () => does.move(axis, by),
      },
      sign,
    );
  const [out, into] = axis === "expert" ? [] : [move(-1, "↑", "one outwards"), move(1, "↓", "one inwards")];
  const says = h("span", { class: "bim-mesh-says" });
  const node = h(
    "li",
    {},
    name,
    size.select,
    h("span", { class: "bim-mesh-moves" }, [out, into].filter(Boolean)),
    says,
  );
  return { axis, name, size, out, into, says, node };
}

function saysOf(s, axis) {
  const size = sizeOf(s, axis);
  if (size === 1) return axis === "expert" ? "on the data ranks" : "one rank a group: nothing to send";
  const all = groups(s, axis).length;
  return `${CALLS[axis]}; ${count(all, "group")} of ${size}, ${where(all, crossing(s, axis))}`;
}

// The axes as they are, in their order.
export function offer({ rows, list, gpus }, s) {
  const order = [...s.axes.map(([name]) => name), "expert"];
  const shown = order.map((axis) => rows.find((row) => row.axis === axis));
  if (shown.some(({ node }, i) => list.children[i] !== node)) list.replaceChildren(...shown.map(({ node }) => node));
  shown.forEach(({ axis, name, size, out, into, says }, i) => {
    name.setAttribute("aria-pressed", `${axis === s.axis}`);
    among(size, SIZES, sizeOf(s, axis));
    if (out) out.disabled = i === 0;
    if (into) into.disabled = i === order.length - 2;
    says.textContent = saysOf(s, axis);
  });
  among(gpus, NODES, s.gpus);
}

function numbers({ s }) {
  const axes = [...s.axes.map(([name]) => name), "expert"].filter((axis) => sizeOf(s, axis) > 1);
  return axes.map((axis) => {
    const rows = groups(s, axis).map((ranks, i) => [letterOf(i), ranks.join(", "), nodesIn(s, ranks)]);
    return table(`${axis}: ${CALLS[axis]}`, ["Group", "Ranks", "Nodes"], rows);
  });
}

export function furniture(widget) {
  const { does } = widget;
  const parts = {
    rows: ALL.map((axis) => rowOf(axis, does)),
    list: h("ol", { class: "bim-mesh-axes" }),
    gpus: chooser("GPUs of a node", (gpus) => does.take({ gpus })),
    stage: h("div", { class: "bim-mesh-stage" }),
    refused: said("bim-mesh-refused", { role: "status" }),
    sentence: said("bim-sentence"),
    notice: said("bim-notice", { role: "status" }),
    said: said("bim-sr", { "aria-live": "polite" }),
    proof: twin("The groups of every axis", () => numbers(widget)),
  };
  const nodes = h("p", { class: "bim-controls" }, "Ranks on nodes of ", parts.gpus.select, " GPUs");
  const body = [parts.list, parts.refused, nodes, parts.stage, parts.sentence];
  const below = [
    h("p", { class: "bim-note" }, NOTE),
    tools(widget, encode, python, parts.notice),
    parts.proof.node,
    parts.said,
  ];
  const title = h("p", { class: "bim-title" }, `Axes, the outermost first; at most ${MOST} ranks`);
  const root = h("div", { class: "bim-mesh bim-widget" }, h("div", { class: "bim-body" }, title, body, below));
  return { ...parts, root };
}
