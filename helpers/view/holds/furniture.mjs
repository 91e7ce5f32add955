// What stands still: the sentence of choices, rooms for the pictures, the bar, the words, tools, the table.
import { transport } from "../shared/page/controls.mjs";
import { choosers, h, said } from "../shared/page/dom.mjs";
import { nbytesText, SIZES } from "../shared/page/numbers.mjs";
import { table, tools, twin } from "../shared/page/tools.mjs";
import { encode, python } from "./link.mjs";
import { LETTERS } from "./picture.mjs";
import { byClass, CLASSES, matched, momentsOf, NAMES, ranksOf, states } from "./steps.mjs";

const KEY = [...CLASSES, "communication", "temporary"];
const NOTE = "A transformer of four layers in fp32, trained by AdamW; DDP has a bucket, FSDP2 a unit a layer.";
const MORE = {
  communication: "lent by others, and buffers of gradients",
  temporary: "everything else",
  own: "the rank's own part, at its place",
};

// What each chooser offers, and has chosen.
export function offer({ choosers: { way, beside, rank } }, known, s) {
  const all = Object.keys(NAMES);
  const words = (one) => NAMES[one] ?? "nothing";
  way.show(all, s.way, words);
  beside.show(["", ...all.filter((one) => one !== s.way)], s.beside, words);
  rank.show([...Array(ranksOf(known, s.way)).keys()], s.rank);
}

const legend = () =>
  h(
    "ul",
    { class: "bim-legend" },
    [...KEY, "own"].map((kind, i) =>
      h(
        "li",
        {},
        h("i", { class: `bim-h-sample bim-h-${kind}` }),
        LETTERS[i] && h("b", {}, LETTERS[i]),
        MORE[kind] ?? kind,
      ),
    ),
  );

// A short name of what happens, for the title over a picture.
export function titled(known, way, at) {
  const { call, what, phase, unit } = momentsOf(known, way)[at];
  const where = unit < 0 ? "" : ` of layer ${unit}`;
  if (call)
    return `${NAMES[way]}: ${call.op}${where}, ${nbytesText(call.nbytes)}; each rank sends at least ${nbytesText(call.sent)}`;
  return `${NAMES[way]}: ${what === "free" ? `${phase}, free` : what}${where}`;
}

function rows(known, way, at) {
  return momentsOf(known, way)[at].ranks.flatMap((here, rank) => {
    const how = states(known, way, at, rank);
    const layers = byClass(known, way, at, rank).map((bytes, unit) => [
      `${rank}`,
      `${unit}`,
      ...bytes,
      how[unit].join(", "),
    ]);
    return [...layers, [`${rank}`, "none", 0, 0, 0, 0, `${nbytesText(here.rest)} of everything else`]];
  });
}

function numbers({ known, s }) {
  const ways = [[s.way, s.at], ...(s.beside ? [[s.beside, matched(known, s.way, s.at, s.beside)]] : [])];
  const head = ["Rank", "Layer", ...CLASSES.map((name) => [name, SIZES]), "How"];
  return ways.map(([way, at]) => table(titled(known, way, at), head, rows(known, way, at)));
}

function room() {
  const [title, ranks, strip] = [said("bim-title"), h("div", { class: "bim-view" }), h("div", { class: "bim-view" })];
  return { title, ranks, strip, node: h("div", { class: "bim-h-way" }, title, ranks, strip) };
}

function asked({ way, beside, rank }) {
  return h(
    "p",
    { class: "bim-controls" },
    h("span", {}, "Who holds what under ", way.select),
    h("span", {}, " beside ", beside.select),
    h("span", {}, " seen from rank ", rank.select),
  );
}

export function furniture(widget) {
  const { does, known } = widget;
  const all = choosers({ way: "Way to share out", beside: "Beside it", rank: "Rank" }, does);
  const parts = {
    choosers: all,
    rooms: [room(), room()],
    bar: transport(does),
    sentence: said("bim-sentence"),
    notice: said("bim-notice", { role: "status" }),
    said: said("bim-sr", { "aria-live": "polite" }),
    proof: twin("What every rank holds as numbers", () => numbers(widget)),
  };
  const source = h("p", { class: "bim-note" }, `Recorded: ${known.label}; ${known.machine}; ${known.date}. ${NOTE}`);
  const stage = h("div", {}, legend(), ...parts.rooms.map(({ node }) => node));
  const body = [asked(all), h("div", { class: "bim-deck" }, stage, parts.bar.node, parts.sentence)];
  const below = [tools(widget, encode, python, parts.notice), source, parts.proof.node, parts.said];
  return { ...parts, root: h("div", { class: "bim-holds bim-widget" }, h("div", { class: "bim-body" }, body, below)) };
}
