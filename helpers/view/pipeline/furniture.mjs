// What stands still: the sentence with its choices, the sliders, room for the picture, the words, tools, a schedule of the reader's own.
import { chooser, h, said } from "../shared/page/dom.mjs";
import { times } from "../shared/page/numbers.mjs";
import { asker } from "../shared/page/python.mjs";
import { folded, table, tool, tools, twin } from "../shared/page/tools.mjs";
import { WEARS } from "./picture.mjs";
import { apart, encode, interleaves, last, PARTS, python } from "./state.mjs";
import { GRAINS, MOST, upper, wordOf, written } from "./timeline.mjs";
import { amount, microbatches } from "./words.mjs";

const SAID = {
  forward: "Forward",
  input: "Backward, the input's gradient",
  weight: "Backward, the weights' gradient",
  hop: "A hop from stage to stage",
};
const NOTE =
  "Times are those of a rank's whole share of the layers for one microbatch; B is the backward whole, I and W its two parts. " +
  "A rank sends at once and waits for no send; what FSDP gathers and reduces takes no time here. " +
  "What is held is counted after each computation, in microbatches of the rank's share.";
const READ = "helpers.pipeline.orders:read";
const OWN =
  "A line a rank, in order: stage, F, B, I or W, microbatch, as helpers.pipeline prints it, or the CSV of a schedule of torch's. " +
  "Messages, and what FSDP does, are placed anew.";

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
  const nodes = parts.map((one) => one.node);
  return { node: h("div", { class: "bim-times" }, nodes), show: (s) => parts.forEach(({ name, put }) => put(s[name])) };
}

const numbered = (n) => times(n, (i) => i + 1);

// The question: which schedule, on how many ranks, with how many microbatches, sharded or not, beside which.
function question(does) {
  const take = (name) => (value) => does.take({ [name]: value });
  const schedule = chooser("Schedule", (value) => does.choose(value));
  const nranks = chooser("Ranks", take("nranks"));
  const nvirtual = chooser("Stages per rank", take("nvirtual"));
  const fsdp = chooser("Parameters", (on) => does.take({ fsdp: Boolean(on) }));
  const versus = chooser("Compared with", take("versus"));
  const [p, m] = [h("strong", {}), h("strong", {})];
  const stages = h("span", {}, ", ", nvirtual.select, " stages per rank");
  const node = h(
    "p",
    { class: "bim-controls" },
    h("span", {}, schedule.select, " on ", nranks.select, p, " ranks"),
    h("span", {}, " with ", m, stages, ","),
    h("span", {}, " parameters ", fsdp.select, ","),
    h("span", {}, " compared with ", versus.select),
  );
  const show = (s, { schedules }, own, isWoven) => {
    const names = Object.keys(schedules);
    const titled = (none) => (name) => (name ? upper(schedules[name].title) : none);
    schedule.show(own ? ["", ...names] : names, s.text ? "" : s.schedule, titled(`${own?.schedule}, as given`));
    nranks.select.hidden = Boolean(s.text);
    p.textContent = s.text ? s.nranks : "";
    nranks.show(numbered(MOST.nranks), s.nranks);
    m.textContent = microbatches(s.nmicrobatches);
    stages.hidden = !isWoven;
    nvirtual.show(numbered(MOST.nvirtual), s.nvirtual);
    fsdp.show(["", "fsdp"], s.fsdp ? "fsdp" : "", (on) => (on ? "sharded (FSDP)" : "whole"));
    const free = (name) => name !== s.schedule || s.text;
    const may = (name) => !s.text || !schedules[name].interleaves || s.nmicrobatches % s.nranks === 0;
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
    show(s.nmicrobatches, microbatches(s.nmicrobatches), [by, last(known, s), by]);
    node.hidden = Boolean(s.text);
  };
  return { node, strip, where, show: put };
}

// Which mark means what, of what is on show.
export function legend(runs, { fsdp }) {
  const there = (kind) => runs.some(({ all }) => all.some((one) => one.kind === kind));
  const late = ([kind, { holds }]) => holds[1] && there(kind);
  const kinds = Object.entries(runs[0].kinds);
  const one = (kind, mark, words) => h("span", {}, h("i", { class: kind }, mark), words);
  const shades = times(Math.max(...runs.map(({ nvirtual }) => nvirtual)), (i) =>
    h("i", { class: `bim-block bim-s0 bim-shade-${i}` }, `${i + 1}`),
  );
  return [
    kinds.map(([kind, { deed }]) => (there(kind) ? one(`bim-block ${WEARS[kind]}`, kind, deed) : [])),
    shades.length > 1 ? h("span", {}, shades, "a rank's stages") : [],
    one("bim-lane", "", "idle"),
    fsdp ? [one("bim-whole", "", "a stage is whole, gathered at its notch"), one("bim-peak", "◆", "reduced")] : [],
    one("bim-held", "", "microbatches held"),
    kinds.some(late) ? one("bim-late-held", "", "held for their weights alone") : [],
    one("bim-peak", "▾", "the most"),
  ].flat(2);
}

// All that every rank does, in order.
function numbers({ runs, known }) {
  return runs.map((run) => {
    const rows = run.events.flatMap((own, rank) => {
      let done = 0;
      return own.map((one) => {
        const held = Object.hasOwn(run.kinds, one.kind) ? run.held[rank][done++] : null;
        const after = ["whole", "weights"].map((part) => (held ? held[part] / run.nvirtual : ""));
        const { deed } = run.kinds[one.kind] ?? { deed: known.shards[one.kind] };
        return [`${rank}`, wordOf(one), deed, one.start / GRAINS, one.end / GRAINS, ...after];
      });
    });
    const head = ["Rank", "Action", "Computes", "Begins", "Ends", "Held then", "for weights alone"];
    return table(`${run.title}: every computation`, head, rows);
  });
}

// The text of the schedule on show, to be changed, and shown where it can be; else what is wrong with it.
function yours(widget) {
  const text = h("textarea", { rows: 6, spellcheck: "false", wrap: "off", "aria-label": "A schedule as text" });
  const refused = h("p", { class: "bim-refused", role: "alert" });
  const coming = h("div");
  const show = async () => {
    const { value, error } = await ask(READ, text.value, MOST.nranks, MOST.nmicrobatches, MOST.nvirtual);
    const why = value?.error ?? error;
    refused.textContent = why ? `Not drawn: ${why}.` : "";
    if (value?.change) widget.does.take(value.change);
  };
  const ask = asker(widget, coming, show);
  const fill = () => {
    text.value = written(widget.runs[0]);
    refused.replaceChildren();
  };
  const row = h("div", { class: "bim-tools" }, tool("Show it", show), tool("The one on show", fill));
  return folded("bim-details bim-own", "A schedule of your own", () => {
    fill();
    return [h("p", { class: "bim-told" }, OWN), text, refused, coming, row];
  }).node;
}

export function furniture(widget, bar) {
  const { does, known } = widget;
  const [ask, count, times_] = [question(does), many(does), timing(does)];
  const hint = "Pipeline over time: Space plays, arrow keys step, Home and End jump";
  const parts = {
    ask: (s, own) => ask.show(s, known, own, interleaves(known, s)),
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
  const line = tools(widget, address, () => python(widget.whole(), known), parts.notice);
  const below = [parts.readout, h("p", { class: "bim-note" }, NOTE), line, parts.proof.node, yours(widget), parts.said];
  const body = h("div", { class: "bim-body" }, above, below);
  return { ...parts, root: h("div", { class: "bim-pipeline bim-widget" }, body) };
}
