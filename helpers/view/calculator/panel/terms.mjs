// Every moment as a bar, stacked by class, on one scale with the device: which is the highest, and does it fit? The terms of one moment,
// class by class, each a list that opens, beside a class the predicted run's figure; and what every letter of a formula stands for.
import { h } from "../../shared/page/dom.mjs";
import { folded, offers, table } from "../../shared/page/tools.mjs";
import { count } from "../lists.mjs";
import { CLASSES, colour, sized } from "../says.mjs";

// [[class, bytes]] in the order in which they are stacked
const byClass = (terms) =>
  Object.keys(CLASSES)
    .map((cls) => [cls, terms.reduce((sum, one) => sum + (one.cls === cls ? one.nbytes : 0), 0)])
    .filter(([, n]) => n);

function bar({ terms }, { scale, unit }) {
  return h(
    "span",
    { class: "bim-calc-bar", "aria-hidden": "true" },
    byClass(terms).map(([cls, n]) =>
      h("i", {
        style: `width:${(100 * n) / scale}%;background:${colour(cls)}`,
        title: `${CLASSES[cls][0]}: ${sized(n, unit)}`,
      }),
    ),
  );
}

function momentRow(moment, { scale, unit, capacity, chosen, onChoose }) {
  const over = moment.nbytes > capacity;
  return h(
    "button",
    {
      type: "button",
      class: `bim-calc-row${over ? " bim-calc-over" : ""}`,
      "aria-pressed": `${moment.name === chosen}`,
      click: () => onChoose(moment.name),
    },
    h("span", { class: "bim-calc-name" }, moment.name),
    " ",
    bar(moment, { scale, unit }),
    h("strong", {}, sized(moment.nbytes, unit)),
    over && h("span", { class: "bim-sr" }, " does not fit"),
  );
}

// The device's capacity is a line over all bars, its name below.
export function bars(moments, { unit, capacity, device, chosen, onChoose }) {
  const scale = 1.04 * Math.max(capacity, ...moments.map(({ nbytes }) => nbytes));
  const place = (100 * capacity) / scale;
  const limit = h(
    "div",
    { class: "bim-calc-limit", "aria-hidden": "true" },
    h("span", {}),
    h(
      "i",
      { style: `left:${place}%` },
      h("em", { class: place > 60 ? "bim-calc-left" : "" }, `${device}, ${sized(capacity, unit)}`),
    ),
    h("span", {}),
  );
  const shown = moments.map((moment) => momentRow(moment, { scale, unit, capacity, chosen, onChoose }));
  return h("div", { class: "bim-calc-bars", role: "group", "aria-label": "Moments of the step" }, shown, limit);
}

const swatch = (cls) => h("i", { class: "bim-swatch", style: `background:${colour(cls)}`, "aria-hidden": "true" });

function source(name, { sources }) {
  const [title, url] = sources[name] ?? [];
  return title && h("p", { class: "bim-calc-source" }, "Source: ", h("a", { href: url }, title));
}

function opened(term, forms) {
  const rows = term.operators.map(({ name, keeps, formula, nbytes }) => [name, keeps, formula, nbytes]);
  const often = term.times > 1 ? `, kept ${term.times} times` : "";
  const listed = table(`${term.name}${often}`, ["Operator", "What it keeps", "Formula", "Bytes"], rows);
  const label = `Operators of ${term.name}`;
  const box = h("div", { class: "bim-scroll", tabindex: "0", role: "region", "aria-label": label }, listed);
  return [box, offers(box).node, source(term.source || term.operators[0]?.source, forms)];
}

function one(term, { forms, open, unit }) {
  const summary = [h("span", {}, term.name), h("code", {}, term.formula), h("strong", {}, sized(term.nbytes, unit))];
  const does = (is) => (is ? open.add(term.name) : open.delete(term.name));
  return folded("bim-calc-term", summary, () => opened(term, forms), { open: open.has(term.name), does }).node;
}

// What the run has of a class, as far as there is a run.
function beside(cls, nbytes, { run, unit }) {
  if (!run) return null;
  const had = run.by_class[cls] ?? 0;
  if (!had) return h("span", { class: "bim-calc-run" }, "the run: none here");
  const apart = Math.abs(had - nbytes) / Math.max(had, nbytes);
  return h(
    "span",
    { class: "bim-calc-run" },
    `the run: ${sized(had, unit)}${apart > 0.005 ? `, ${(100 * (had / nbytes - 1)).toFixed(1)} %` : ""}`,
  );
}

// open: the names of the terms that the reader has opened; run: { by_class } or undefined; unit: of all figures
export function termList(terms, shown) {
  const { run, unit } = shown;
  const groups = byClass(terms).map(([cls, nbytes]) =>
    h(
      "div",
      { class: "bim-calc-group" },
      h(
        "p",
        { class: "bim-calc-class" },
        swatch(cls),
        h("b", {}, CLASSES[cls][0]),
        h("strong", {}, sized(nbytes, unit)),
        beside(cls, nbytes, shown),
      ),
      terms.filter((term) => term.cls === cls).map((term) => one(term, shown)),
    ),
  );
  const formulas = new Set(terms.map(({ cls }) => cls));
  const missing = Object.entries(run?.by_class ?? {}).filter(([cls]) => !formulas.has(cls));
  return [
    ...groups,
    ...missing.map(([cls, n]) =>
      h(
        "p",
        { class: "bim-calc-class" },
        swatch(cls),
        h("b", {}, CLASSES[cls][0]),
        h("span", {}, "no formula here"),
        h("span", { class: "bim-calc-run" }, `the run: ${sized(n, unit)}`),
      ),
    ),
  ];
}

const SIZES = [
  ["h", "width of the residual stream"],
  ["a", "heads"],
  ["k", "heads with keys and values of their own"],
  ["d", "numbers of a head"],
  ["f", "width inside the MLP"],
  ["V", "vocabulary"],
  ["E", "experts"],
  ["x", "experts that a token visits"],
];
const RATIOS = [
  ["g", "k / a", ({ k, a }) => k / a],
  ["r", "f / h", ({ f, h }) => f / h],
];

function rows(spec, forms) {
  const { sizes, layers, nparams, ranks, window: w, latent } = forms.models.find(({ name }) => name === spec.model);
  const rank = ranks[spec.tensor];
  const here =
    spec.mode === "train" && rank
      ? count([
          [rank.block, layers],
          [rank.rest, 1],
        ])
      : nparams;
  return [
    ["P", spec.tensor > 1 ? "parameters of this rank's part" : "parameters", here],
    ["L", "layers", layers],
    ["b", spec.mode === "serve" ? "requests" : "sequences", spec.batch],
    ["s", "tokens of each", spec.seq],
    ...SIZES.map(([letter, text]) => [letter, text, sizes[letter]]),
    ...RATIOS.map(([letter, text, of]) => [letter, text, of(sizes)]),
    ["t", "ranks that split a block", spec.tensor ?? 1],
    ["w", "tokens that a window looks back", w],
    ["c", "numbers of a latent vector", latent?.[0]],
    ["e", "numbers of the shared rotary key", latent?.[1]],
  ].filter(([, , value]) => value);
}

export const symbols = (spec, forms) =>
  table(`Sizes of ${spec.model}, and of this choice`, ["Letter", "Stands for", "Here"], rows(spec, forms));
