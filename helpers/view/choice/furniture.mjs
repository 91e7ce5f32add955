// What stands still: the question as a sentence with its choices, the slider, the rooms for both pictures, the words, tools.
import { h } from "../shared/page/dom.mjs";
import { copy, share } from "../shared/page/link.mjs";
import { nbytesText, SECONDS } from "../shared/page/numbers.mjs";
import { table, twin } from "../shared/page/tables.mjs";
import { chosen, estimates, GRAINS, nodesOf, offered, ranksOf, versionsOf, way } from "./asked.mjs";
import { encode, python } from "./link.mjs";

const NOTE =
  "GPUs behind an NVSwitch, by the constants in each version's source. Between nodes these are NCCL's own estimates: no public table " +
  "that we know has times to hold against them.";
const LEGEND = {
  winner: "NCCL's estimate of what it takes",
  candidate: "of the others",
  ours: "what we expect on a clock",
  seen: "a published run",
};

function chooser(words, does, key, read = String) {
  const select = h("select", { "aria-label": words, change: () => does.take({ [key]: read(select.value) }) });
  const show = (options, value) => {
    select.replaceChildren(...options.map((one) => h("option", { value: one }, `${one}`)));
    select.value = value;
  };
  return { select, show };
}

function sizer(does) {
  const shown = h("strong", {});
  const range = h("input", {
    type: "range",
    min: GRAINS[0],
    max: GRAINS[1],
    step: 1,
    "aria-label": "Size of the message",
    input: () => does.take({ nbytes: 2 ** range.value }),
  });
  const show = (nbytes, words) => {
    range.value = Math.log2(nbytes);
    range.setAttribute("aria-valuetext", words);
    shown.textContent = nbytesText(nbytes);
  };
  return { shown, range, show };
}

function choosers(does) {
  return {
    collective: chooser("Collective", does, "collective"),
    nranks: chooser("GPUs", does, "nranks", Number),
    nodes: chooser("Nodes", does, "nodes", Number),
    machine: chooser("Machine", does, "machine"),
    version: chooser("NCCL version", does, "version"),
    beside: chooser("Version beside it", does, "beside"),
  };
}

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

const legend = () =>
  h(
    "p",
    { class: "bim-legend" },
    Object.entries(LEGEND).map(([kind, words]) => h("span", {}, h("i", { class: `bim-${kind}` }), words)),
  );

function tools(widget, notice) {
  const tool = (words, click) => h("button", { type: "button", class: "bim-tool", click }, words);
  const link = !widget.live && tool("Copy link", () => share(encode(widget.s, widget.index), notice));
  const code = tool("Copy as Python", () => copy(python(widget.s), "Python", notice));
  return h("div", { class: "bim-tools" }, link, code, notice);
}

const said = (kind, more = {}) => h("p", { class: kind, ...more });
const picture = () => h("div", { class: "bim-view" });

export function furniture(widget) {
  const { does } = widget;
  const [size, all] = [sizer(does), choosers(does)];
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
  const body = [ask, slider, parts.sentence, parts.compared, parts.lines, legend(), parts.bars];
  const below = [h("p", { class: "bim-note" }, NOTE), tools(widget, parts.notice), parts.proof.node, parts.said];
  return { ...parts, root: h("div", { class: "bim-choice bim-widget" }, h("div", { class: "bim-body" }, body, below)) };
}
