// A size read off, a card a curve; and every size as a table.
import { h } from "../../shared/page/dom.mjs";
import { bandwidthText, nbytesText, SECONDS, secondsText } from "../../shared/page/numbers.mjs";
import { table } from "../../shared/page/tools.mjs";
import { lineAt } from "../data/line.mjs";
import { nameOf, percent } from "../data/words.mjs";
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
