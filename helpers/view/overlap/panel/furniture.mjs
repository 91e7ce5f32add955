// What stands still: the question as a sentence with its choices, the slider with what each place exposes, the lanes, the words, tools.
import { choosers, h, hold, legend, said } from "../../shared/page/dom.mjs";
import { grouped, nbytesText, SECONDS, secondsText } from "../../shared/page/numbers.mjs";
import { table, tool, tools, twin } from "../../shared/page/tools.mjs";
import { NRANKS, placesOf } from "../job.mjs";
import { encode, MODES, python, SHARES, TOKENS } from "../link.mjs";
import { bucketText, figuresOf } from "../words.mjs";

const NOTE =
  "Products of matrices with tokens at a share of the datasheet's dense bf16 rate, two operations a weight in forward and four in " +
  "backward; attention's scores, tables and norms take no time here. Everything travels in bf16, and a call takes what a ring of " +
  `${NRANKS} GPUs is priced at. What a call takes from the products beside it is not counted.`;
const MODE_WORDS = {
  buckets: "gradients in buckets",
  units: "sharded, gathered ahead",
  recorded: "recorded steps of four ranks",
};
const SLIDER = { buckets: "A bucket is full at", units: "Computations ahead", recorded: "Recorded" };

export function stopOf({ s, know }) {
  const [key, places] = placesOf(s, know);
  return places.indexOf(s[key]);
}

export function changeTo({ s, know }, i) {
  const [key, places] = placesOf(s, know);
  return { [key]: places[i] };
}

const placeText = (s, { recorded }) =>
  ({ buckets: bucketText(s.bucket), units: `${s.prefetch}`, recorded: recorded.ways[s.way].name })[s.mode];

// The bars under it can be dragged over, too; they are drawn anew meanwhile, so their room hears it.
function slider(widget) {
  const [name, shown] = [h("span", {}), h("output", {})];
  const input = () => widget.does.take(changeTo(widget, Number(range.value)));
  const range = h("input", { type: "range", min: 0, step: 1, input });
  const room = h("div", { class: "bim-strip" });
  hold(room, (px) => {
    const last = widget.others.length - 1;
    const i = Math.max(0, Math.min(last, Math.round(((px - 8) / (room.clientWidth - 16)) * last)));
    if (i !== stopOf(widget)) widget.does.take(changeTo(widget, i));
  });
  const show = () => {
    const { s, know } = widget;
    name.textContent = SLIDER[s.mode];
    range.setAttribute("aria-label", name.textContent);
    range.max = widget.others.length - 1;
    range.value = stopOf(widget);
    range.setAttribute("aria-valuetext", placeText(s, know));
    shown.textContent = placeText(s, know);
  };
  const node = h("div", { class: "bim-slider" }, h("p", { class: "bim-chosen" }, name, " ", shown), range, room);
  return { node, room, show };
}

// A recorded step is of no model and of no GPU.
export function offer({ choosers: all, job, note }, { s, know, links }) {
  all.model.show(Object.keys(know.models), s.model);
  all.gpu.show(Object.keys(know.rates), s.gpu);
  const slugs = links.map(({ slug }) => slug);
  all.link.show(slugs, s.link, (slug) => links.find((one) => one.slug === slug).name);
  all.tokens.show(TOKENS, s.tokens, (n) => grouped(`${n}`));
  all.share.show(SHARES, s.share, (n) => `${n} %`);
  all.mode.show(MODES, s.mode, (mode) => MODE_WORDS[mode]);
  for (const node of [job, note]) node.hidden = s.mode === "recorded";
}

export function readout({ s, o }) {
  const { computed, communication, hidden, exposed, seconds } = figuresOf(o);
  const cells = [
    ["Computation", computed],
    ["Link kept", communication],
    ["Hidden", hidden],
    ["Exposed", exposed],
    ["Step", seconds],
  ].map(([name, time]) => [name, secondsText(time)]);
  if (s.mode === "units") cells.push(["Gathered", nbytesText(o.gathered)]);
  return cells.map(([name, words]) => h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", {}, words))));
}

const HEADS = { buckets: "Bucket", units: "Ahead", recorded: "Way" };
const TAKES = ["Link kept", "Hidden", "Exposed", "Step"].map((words) => [words, SECONDS]);

function numbers({ s, others, know }) {
  const last = { buckets: [], units: ["Gathered"], recorded: [["Exposed by the model", SECONDS]] }[s.mode];
  const rows = others.map((one) => {
    const { communication, hidden, exposed, seconds } = figuresOf(one.o);
    const more = { units: one.o.gathered && nbytesText(one.o.gathered), recorded: one.o.predicted?.exposed }[s.mode];
    return [placeText(one.s, know), communication, hidden, exposed, seconds, ...(last.length ? [more] : [])];
  });
  return table("What is hidden, and what is not", [HEADS[s.mode], ...TAKES, ...last], rows);
}

const LEGEND = {
  s0: "forward",
  s1: "backward",
  s2: "sums gradients",
  s3: "gathers weights",
  exposed: "exposed: nothing computes",
};

const NAMES = {
  model: "Model",
  gpu: "GPU",
  link: "Link",
  tokens: "Tokens of a GPU",
  share: "Share of the peak",
  mode: "What is sent",
};

export function furniture(widget) {
  const all = choosers(NAMES, widget.does);
  const parts = {
    choosers: all,
    job: h("span", {}),
    note: h("p", { class: "bim-note" }, NOTE),
    size: slider(widget),
    stage: h("div", { class: "bim-view" }),
    sentence: said("bim-sentence"),
    compared: said("bim-compared"),
    figures: h("dl", { class: "bim-readout" }),
    notice: said("bim-notice", { role: "status" }),
    said: said("bim-sr", { "aria-live": "polite" }),
    proof: twin("Every place of the slider as numbers", () => numbers(widget)),
  };
  const { model, gpu, link, tokens, share: part, mode } = all;
  parts.job.append(
    h("span", {}, model.select, ` on ${NRANKS} `, gpu.select, " over ", link.select, ", "),
    h("span", {}, tokens.select, " tokens each at ", part.select, " of the peak: "),
  );
  const ask = h("p", { class: "bim-controls" }, parts.job, mode.select);
  const body = [ask, parts.size.node, parts.sentence, parts.compared, parts.stage, legend(LEGEND), parts.figures];
  const under = tools(widget, encode, python, parts.notice);
  under.prepend(tool("The best place", () => widget.does.best()));
  const below = [parts.note, under, parts.proof.node, parts.said];
  return {
    ...parts,
    root: h("div", { class: "bim-overlap bim-widget" }, h("div", { class: "bim-body" }, body, below)),
  };
}
