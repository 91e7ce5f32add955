// The terms of one moment, class by class, each a list that opens; beside a class, the predicted run's figure.
import { h } from "../../shared/page/dom.mjs";
import { folded, offers, table } from "../../shared/page/tools.mjs";
import { CLASSES, colour, sized } from "../says.mjs";
import { byClass } from "./bars.mjs";

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
