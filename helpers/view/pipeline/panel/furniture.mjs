// What stands still: the sentence with its choices, the sliders, room for the picture, the words, tools.
import { h } from "../../shared/page/dom.mjs";
import { chooser, said } from "../../shared/page/furniture.mjs";
import { tools } from "../../shared/page/link.mjs";
import { times } from "../../shared/page/numbers.mjs";
import { table, twin } from "../../shared/page/tables.mjs";
import { encode, python } from "../link.mjs";
import { KINDS, MOST, upper } from "../programs.mjs";
import { apart, interleaves, PARTS } from "../state.mjs";
import { GRAINS } from "../timeline.mjs";
import { amount, microbatches } from "../words.mjs";
import { yours } from "./yours.mjs";

const SAID = {
  forward: "Forward",
  input: "Backward, the input's gradient",
  weight: "Backward, the weights' gradient",
  hop: "A hop from stage to stage",
};
const NOTE =
  "Times are those of a rank's whole share of the layers for one microbatch; B is the backward whole, I and W its two parts. " +
  "A rank sends at once and waits for no send. What is held is counted after each computation, in microbatches of the rank's share.";

function slider(words, give) {
  const range = h("input", { type: "range", "aria-label": words, input: () => give(Number(range.value)) });
  const show = (value, text, [min, max, step]) => {
    Object.assign(range, { min, max, step });
    range.value = value;
    range.setAttribute("aria-valuetext", text);
  };
  return { range, show };
}

// The four times, each with its number.
function timing(does) {
  const parts = Object.entries(PARTS).map(([name, ends]) => {
    const { range, show } = slider(SAID[name], (value) => does.take({ [name]: value }));
    const told = h("strong", {});
    const node = h("label", { class: "bim-slider" }, h("span", {}, SAID[name], " ", told), range);
    const put = (value) => {
      told.textContent = amount(value);
      show(value, amount(value), [...ends, 0.25]);
    };
    return { name, node, put };
  });
  const node = h(
    "div",
    { class: "bim-times" },
    parts.map((one) => one.node),
  );
  return { node, show: (s) => parts.forEach(({ name, put }) => put(s[name])) };
}

const numbered = (n) => times(n, (i) => i + 1);

// The question: which schedule, on how many ranks, with how many microbatches, beside which.
function question(does) {
  const take = (name) => (value) => does.take({ [name]: value });
  const schedule = chooser("Schedule", (value) => does.choose(value));
  const nranks = chooser("Ranks", take("nranks"));
  const nvirtual = chooser("Stages per rank", take("nvirtual"));
  const versus = chooser("Compared with", take("versus"));
  const [p, m] = [h("strong", {}), h("strong", {})];
  const stages = h("span", {}, ", ", nvirtual.select, " stages per rank");
  const node = h(
    "p",
    { class: "bim-controls" },
    h("span", {}, schedule.select, " on ", nranks.select, p, " ranks"),
    h("span", {}, " with ", m, stages, ","),
    h("span", {}, " compared with ", versus.select),
  );
  const show = (s, known, own) => {
    const names = Object.keys(known);
    const titled = (none) => (name) => (name ? upper(known[name].title) : none);
    schedule.show(own ? ["", ...names] : names, s.text ? "" : s.schedule, titled(`${own?.schedule}, as given`));
    nranks.select.hidden = Boolean(s.text);
    p.textContent = s.text ? s.nranks : "";
    nranks.show(numbered(MOST.nranks), s.nranks);
    m.textContent = microbatches(s.nmicrobatches);
    stages.hidden = !interleaves(known, s);
    nvirtual.show(numbered(MOST.nvirtual), s.nvirtual);
    const free = (name) => name !== s.schedule || s.text;
    const may = (name) => !s.text || !known[name].interleaves || s.nmicrobatches % s.nranks === 0;
    versus.show(["", ...names.filter((one) => free(one) && may(one))], s.versus, titled("nothing"));
  };
  return { node, show };
}

function many(does) {
  const { range, show } = slider("Microbatches", (nmicrobatches) => does.take({ nmicrobatches }));
  const strip = h("div", { class: "bim-strip" });
  const where = h("p", { class: "bim-where" });
  const node = h("div", { class: "bim-many" }, h("label", { class: "bim-slider" }, range), strip, where);
  const put = (s, known) => {
    const by = apart(known, s);
    show(s.nmicrobatches, microbatches(s.nmicrobatches), [by, Math.floor(MOST.nmicrobatches / by) * by, by]);
    node.hidden = Boolean(s.text);
  };
  return { node, strip, where, show: put };
}

// Which mark means what, of what is on show.
export function legend(runs) {
  const there = (kind) => runs.some(({ all }) => all.some((one) => one.kind === kind));
  const shades = Math.max(...runs.map(({ nvirtual }) => nvirtual));
  const one = (kind, mark, words) => h("span", {}, h("i", { class: kind }, mark), words);
  return [
    ...Object.entries(KINDS).map(([kind, { deed, wears }]) => there(kind) && one(`bim-block ${wears}`, kind, deed)),
    shades > 1 &&
      h(
        "span",
        {},
        times(shades, (i) => h("i", { class: `bim-block bim-s0 bim-shade-${i}` }, `${i + 1}`)),
        "a rank's stages",
      ),
    one("bim-lane", "", "idle"),
    one("bim-held", "", "microbatches held"),
    Object.keys(KINDS).some((kind) => KINDS[kind].holds[1] && there(kind)) &&
      one("bim-late-held", "", "held for their weights alone"),
    one("bim-peak", "▾", "the most"),
  ].filter(Boolean);
}

// Every computation, in the order of the ranks.
function numbers({ runs }) {
  return runs.map((run) => {
    const rows = run.lanes.flatMap((lane, rank) =>
      lane.map(({ kind, stage, k, start, end }, i) => {
        const { whole, weights } = run.held[rank][i];
        const held = [whole, weights].map((one) => one / run.nvirtual);
        return [`${rank}`, `${stage}${kind}${k}`, KINDS[kind].deed, start / GRAINS, end / GRAINS, ...held];
      }),
    );
    const head = ["Rank", "Action", "Computes", "Begins", "Ends", "Held then", "for weights alone"];
    return table(`${run.title}: every computation`, head, rows);
  });
}

export function furniture(widget, bar) {
  const { does } = widget;
  const [ask, count, times_] = [question(does), many(does), timing(does)];
  const hint = "Pipeline over time: Space plays, arrow keys step, Home and End jump";
  const parts = {
    ask,
    count,
    times: times_,
    verdict: said("bim-verdict"),
    key: said("bim-legend"),
    stage: h("div", { class: "bim-view", tabindex: "0", role: "group", "aria-label": hint }),
    sentence: said("bim-sentence"),
    readout: h("dl", { class: "bim-readout" }),
    notice: said("bim-notice", { role: "status" }),
    said: said("bim-sr", { "aria-live": "polite" }),
    proof: twin("Every computation as a table", () => numbers(widget)),
  };
  const deck = h("div", { class: "bim-deck" }, h("div", {}, parts.stage), bar.node, parts.sentence);
  const above = [ask.node, count.node, times_.node, parts.verdict, parts.key, deck];
  const address = () => encode(widget.whole(), widget.index, widget.base);
  const code = () => python(widget.whole(), interleaves(widget.known, widget.s));
  const below = [
    parts.readout,
    said("bim-note"),
    tools(widget, address, code, parts.notice),
    parts.proof.node,
    yours(widget),
    parts.said,
  ];
  below[1].textContent = NOTE;
  return {
    ...parts,
    root: h("div", { class: "bim-pipeline bim-widget" }, h("div", { class: "bim-body" }, above, below)),
  };
}
