// What stands still: the box and where files are dropped, the examples, the machine, and room for the verdict.
import { cell, py } from "../shared/page/copied.mjs";
import { h, said } from "../shared/page/dom.mjs";
import { SECONDS, SIZES } from "../shared/page/numbers.mjs";
import { table, tool, tools, twin } from "../shared/page/tools.mjs";
import { encode } from "./link.mjs";

const STAYS = "Nothing that you give leaves this browser: Python reads it here, in the page.";
const PYTHON = cell(
  py`from helpers.yours import is_my_number_good`,
  "",
  py`print(is_my_number_good(open("mine.txt").read()))`,
);
const RATES = [
  [1e9, "GB/s"],
  [1e6, "MB/s"],
];

// Text is pasted or typed; files are chosen, or dropped anywhere on the widget.
function intake({ does, index, known }) {
  const id = `bim-yours-${index}`;
  const box = h("textarea", {
    id,
    class: "bim-box",
    rows: 6,
    spellcheck: "false",
    autocomplete: "off",
    wrap: "off",
    input: does.typed,
    paste: (event) => {
      const text = event.clipboardData.getData("text");
      if (text.length <= known.box) return;
      event.preventDefault(); // a browser lays such a text out for seconds
      does.pasted(text);
    },
  });
  const file = h("input", {
    type: "file",
    class: "bim-sr",
    tabindex: "-1",
    multiple: true,
    "aria-hidden": "true", // the words beside it open it
    "aria-label": "Files of yours",
  });
  file.addEventListener("change", async () => {
    await does.open(file.files);
    file.value = "";
  });
  const label = h("label", { for: id }, "Paste what your machine printed");
  const choose = tool("choose files", () => file.click());
  const chosen = h("span", { class: "bim-files" });
  const under = h("p", { class: "bim-under" }, "or drop it here, or ", choose, ". ", chosen);
  return { box, chosen, node: h("div", { class: "bim-intake" }, label, box, under, file) };
}

function dropping(root, does) {
  const over = (is) => (event) => {
    event.preventDefault();
    root.classList.toggle("bim-over", is);
  };
  root.addEventListener("dragover", over(true));
  root.addEventListener("dragleave", over(false));
  root.addEventListener("drop", (event) => {
    over(false)(event);
    if (event.dataTransfer.files.length) does.open(event.dataTransfer.files);
  });
}

function examples({ examples: all, does }) {
  const buttons = all.map(({ name, label }) => tool(label, () => does.tryOut(name), { class: "bim-try" }));
  const show = (now) => all.forEach(({ name }, at) => buttons[at].setAttribute("aria-pressed", `${name === now}`));
  return {
    show,
    node: h("div", { class: "bim-tries", role: "group", "aria-label": "Examples" }, h("span", {}, "Try with"), buttons),
  };
}

function machines({ known, does }) {
  const options = Object.entries(known.places).map(([key, title]) => h("option", { value: key }, title));
  const select = h(
    "select",
    { "aria-label": "The machine", change: () => does.on(select.value) },
    h("option", { value: "" }, "as the text tells"),
    options,
  );
  return select;
}

// The numbers of a curve, and what stands beside it at the same sizes.
function numbers({ found }) {
  if (found?.lines.length && !found.points.length)
    return table(
      found.what,
      ["Line", "What it says"],
      found.lines.map((line, at) => [`${at + 1}`, line]),
    );
  if (!found?.points.length) return h("p", {}, "No times stand in what was given.");
  const [first] = found.nearest;
  const beside = new Map((first?.points ?? []).map((one) => [one.nbytes, one.busbw]));
  const model = new Map(found.predicted.map((one) => [one.nbytes, one]));
  const rows = found.points.map(({ nbytes, seconds, busbw }) => {
    const { algorithm, protocol, ...one } = model.get(nbytes) ?? {};
    const cells = [
      seconds,
      busbw,
      beside.get(nbytes) ?? "–",
      one.busbw ?? "–",
      algorithm ? `${algorithm}/${protocol}` : "–",
    ];
    return [sizeText(nbytes), ...cells];
  });
  const head = [
    "Size",
    ["Yours", SECONDS],
    ["Your busbw", RATES],
    ["Published", RATES],
    ["Predicted", RATES],
    "NCCL would take",
  ];
  return table("busbw one way per GPU", head, rows);
}

function sizeText(nbytes) {
  const [size, unit] = SIZES.find(([least]) => least <= nbytes) ?? SIZES.at(-1);
  return `${+(nbytes / size).toPrecision(4)} ${unit}`;
}

export function furniture(widget) {
  const [intakes, tries, machine] = [intake(widget), examples(widget), machines(widget)];
  const notice = said("bim-notice", { role: "status" });
  const parts = {
    box: intakes.box,
    chosen: intakes.chosen,
    tries,
    machine,
    notice,
    about: said("bim-about"),
    what: said("bim-what"),
    sentence: said("bim-sentence"),
    kinds: said("bim-kinds"),
    coming: h("div"),
    spoken: said("bim-sr", { "aria-live": "polite" }),
    stage: h("div", { class: "bim-stage" }),
    beside: h("div", { class: "bim-beside" }),
    causes: h("ol", { class: "bim-causes" }),
    others: h("ol", { class: "bim-causes", start: 2 }),
    proof: twin("Line by line", () => numbers(widget)),
  };
  const on = said("bim-controls");
  on.append("The machine: ", machine);
  const { about, what, sentence, kinds, coming, stage, beside, causes, others, spoken, proof } = parts;
  const hand = h(
    "div",
    { class: "bim-tools" },
    tool("Copy for an issue, without names", widget.does.handOn),
    tool("Hide names in the text", widget.does.hide),
  );
  const { door } = widget.s;
  const under = [proof.node, hand, tools(widget, encode, () => PYTHON, notice)];
  const more = [stage, beside];
  parts.room = h("div", { class: "bim-room" }, what, sentence, kinds, coming, !door && more, causes);
  const stays = h("p", { class: "bim-stays" }, STAYS);
  const body = door
    ? [
        h("div", { class: "bim-pair" }, h("div", {}, intakes.node, stays, about), parts.room),
        h("details", { class: "bim-all" }, h("summary", {}, "The whole verdict"), on, more, others, under),
      ]
    : [intakes.node, stays, tries.node, about, on, parts.room, under];
  parts.root = h("div", { class: "bim-widget bim-yours" }, h("div", { class: "bim-body" }, body, spoken));
  dropping(parts.root, widget.does);
  return parts;
}
