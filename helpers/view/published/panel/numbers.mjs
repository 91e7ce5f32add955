// A size read off, a card a curve, and every size as a table; each curve by its letter: what it is, what is odd about it, and where it
// comes from, one click away.
import { h } from "../../shared/page/dom.mjs";
import { bandwidthText, nbytesText, SECONDS, secondsText } from "../../shared/page/numbers.mjs";
import { folded, table } from "../../shared/page/tools.mjs";
import { lineAt } from "../data/line.mjs";
import { nameOf, oddity, percent, summary } from "../data/words.mjs";
import { chip } from "./controls.mjs";

const RATES = [[1e9, "GB/s"]];

const off = (told, second) => {
  const share = told / second - 1;
  return `${percent(Math.abs(share))} ${share < 0 ? "less" : "more"}`;
};

function facts(run, i) {
  const [second, model] = [run.seconds[i], run.model?.[i]];
  const line = run.line && lineAt(run.line, run.sizes[i]);
  const ends = [run.least[i], run.most[i]].map(secondsText).join(" to ");
  return [
    `${bandwidthText(run.busbw[i])} busbw, one way`,
    run.most[i] > run.least[i] ? `${run.spread ?? `${run.repeats[i]} times`}: ${ends}` : "one time",
    model
      ? `model: ${secondsText(model.seconds)}, ${off(model.seconds, second)}, by ${model.way.replace(" ", " and ")}`
      : "no model",
    line ? `line: ${secondsText(line)}, ${off(line, second)}` : "no line",
  ];
}

function card({ letter, run }, nbytes) {
  const i = run.sizes.indexOf(nbytes);
  const told = i < 0 ? ["not measured there"] : facts(run, i);
  return h(
    "div",
    {},
    h("dt", {}, chip(letter)),
    h(
      "dd",
      {},
      h("strong", {}, i < 0 ? "–" : secondsText(run.seconds[i])),
      told.map((words) => h("span", {}, words)),
    ),
  );
}

export const cards = ({ curves, s }) => curves.map((one) => card(one, s.at));

function tableOf({ letter, run }) {
  const rows = run.sizes.map((size, i) => [
    nbytesText(size),
    run.seconds[i],
    run.least[i],
    run.most[i],
    run.repeats[i],
    run.busbw[i],
    run.model?.[i].seconds ?? "–",
    run.model?.[i].way ?? "–",
    run.line ? lineAt(run.line, size) : "–",
  ]);
  const times = ["Time", "Least", "Most"].map((word) => [word, SECONDS]);
  const head = ["Size", ...times, "Repeats", ["busbw, one way", RATES], ["Model", SECONDS], "Way", ["Line", SECONDS]];
  return table(`${letter}: ${run.key ? nameOf(run) : run.name}`, head, rows);
}

export const tables = ({ curves }) => curves.map(tableOf);

const unknown = "not stated";
const entry = (term, told) => told && [h("dt", {}, term), h("dd", {}, told)];

function source({ table, folder, version }) {
  const link = h("a", { href: table.url, rel: "noopener" }, table.title);
  const by = [table.author, table.date && `published ${table.date}`, table.licence, `read ${table.checked}`];
  return h(
    "dl",
    { class: "bim-pub-source" },
    entry("Source", [link, `, ${by.filter(Boolean).join(", ")}`]),
    entry("Where", table.where),
    entry("Machine", table.machine),
    entry("Software", table.software),
    folder && entry("NCCL", `the rows say ${version ?? "nothing"}, the folder ${folder}`),
    entry("Command", table.command ?? unknown),
    entry("Measured", table.measured ?? unknown),
    entry("What it is", table.meaning),
    entry("Not stated", table.not_stated.join("; ")),
    entry("In the repository", h("code", {}, `recorded/public/${table.name}.json`)),
  );
}

function own({ from }) {
  return h(
    "dl",
    { class: "bim-pub-source" },
    entry("Source", "read by this page from what you gave it; it stays in your browser"),
    from.map(([term, told]) => entry(term, told)),
  );
}

function item({ letter, run }, open, keep) {
  const details = folded("bim-pub-from", `Where ${letter} comes from`, () => (run.key ? source(run) : own(run)), {
    open,
    does: keep,
  });
  const name = h("strong", {}, run.key ? nameOf(run) : run.name);
  const odd = oddity(run);
  return h(
    "li",
    {},
    chip(letter),
    h("div", {}, h("p", {}, name, ": ", summary(run)), odd && h("p", { class: "bim-pub-odd" }, odd), details.node),
  );
}

export const provenance = ({ curves, open }) =>
  curves.map((one) => item(one, open.has(one.letter), (is) => (is ? open.add(one.letter) : open.delete(one.letter))));
