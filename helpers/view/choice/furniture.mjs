// What stands still: the question as a sentence with its choices, the slider, the rooms for both pictures, the words, tools.
import { choosers, h, legend, said, sizer } from "../shared/page/dom.mjs";
import { nbytesText, SECONDS } from "../shared/page/numbers.mjs";
import { table, tools, twin } from "../shared/page/tools.mjs";
import { chosen, estimates, GRAINS, nodesOf, offered, ranksOf, versionsOf, way } from "./asked.mjs";
import { encode, python } from "./link.mjs";

const NOTE =
  "GPUs behind an NVSwitch, by the constants in each version's source. Between nodes these are NCCL's own estimates: no table " +
  "of ours has times to hold against them.";
const LEGEND = {
  winner: "NCCL's estimate of what it takes",
  candidate: "of the others",
  ours: "what we expect on a clock",
  seen: "a published run",
};
const NAMES = {
  collective: "Collective",
  nranks: "GPUs",
  nodes: "Nodes",
  machine: "Machine",
  version: "NCCL version",
  beside: "Version beside it",
};

// What each chooser offers, and has chosen.
export function offer({ choosers: all }, known, s) {
  all.collective.show(known.model.collectives, s.collective);
  all.machine.show(offered(known), s.machine);
  all.nodes.show(nodesOf(known, s.machine), s.nodes);
  all.nranks.show(ranksOf(known, s.machine, s.nodes), s.nranks);
  for (const one of ["version", "beside"]) all[one].show(versionsOf(known, s.machine), s[one]);
}

function numbers({ known, s }) {
  const lines = estimates(known, s);
  const head = ["Candidate", "Blocks", ...["It begins after", "Its bytes", "NCCL's estimate"].map((w) => [w, SECONDS])];
  const rows = chosen(known, s).candidates.map((one) => {
    const { latency } = lines.get(way(one));
    return [way(one), one.channels, latency, one.raw - latency, one.raw, one.corrected ?? "–"];
  });
  const caption = `${s.collective} of ${nbytesText(s.nbytes)} on ${s.nranks} GPUs, NCCL ${s.version}`;
  return table(caption, [...head, ["We expect", SECONDS]], rows);
}

const picture = () => h("div", { class: "bim-view" });

export function furniture(widget) {
  const { does } = widget;
  const [size, all] = [sizer(does, GRAINS), choosers(NAMES, does)];
  const parts = {
    size,
    choosers: all,
    lines: picture(),
    bars: picture(),
    sentence: said("bim-sentence"),
    compared: said("bim-compared"),
    notice: said("bim-notice", { role: "status" }),
    said: said("bim-sr", { "aria-live": "polite" }),
    proof: twin("The candidates as numbers", () => numbers(widget)),
  };
  const { collective, nranks, nodes, machine, version, beside } = all;
  const ask = h(
    "p",
    { class: "bim-controls" },
    h("span", {}, collective.select, " of ", size.shown),
    h("span", {}, " on ", nranks.select, " GPUs in ", nodes.select, " × ", machine.select),
    h("span", {}, " with NCCL ", version.select, " beside ", beside.select),
  );
  const slider = h("label", { class: "bim-slider" }, size.range);
  const body = [ask, slider, parts.sentence, parts.compared, parts.lines, legend(LEGEND), parts.bars];
  const below = [
    h("p", { class: "bim-note" }, NOTE),
    tools(widget, encode, python, parts.notice),
    parts.proof.node,
    parts.said,
  ];
  return { ...parts, root: h("div", { class: "bim-choice bim-widget" }, h("div", { class: "bim-body" }, body, below)) };
}
