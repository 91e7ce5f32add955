// The sentences that choose: what is to be done, on how many ranks, from which start, for which target.
import { h } from "../../shared/page/dom.mjs";
import { nbytesText, times } from "../../shared/page/numbers.mjs";
import { MINE } from "../editing.mjs";
import { chunkCounts, COLLECTIVES } from "../proof/pledge.mjs";

const SIZED = [1, ...times(13, (i) => 1024 * 4 ** i)];

function picker(label, options, chosen, onChange) {
  const values = options.map((option) => (Array.isArray(option) ? option : [option, `${option}`]));
  if (!values.some(([value]) => value === chosen)) values.push([chosen, `${chosen}`]);
  return h(
    "select",
    { "aria-label": label, change: ({ target }) => onChange(values[target.selectedIndex][0]) },
    values.map(([value, text]) => h("option", { value: `${value}`, selected: value === chosen }, text)),
  );
}

// The catalogue's schedules that can be drawn here: switches hold nothing that a reader could press.
const starts = (catalogue, s) => catalogue.filter((entry) => entry.collective === s.collective && !entry.switched);

const rootPart = (s, does) => {
  const towards = ["reduce", "gather"].includes(s.collective) ? "to" : "from";
  const ranks = times(s.nranks, (r) => r);
  return s.root !== null && [` ${towards} rank `, picker("Root", ranks, s.root, (root) => does.shape({ root }))];
};

function chunksPart(s, does) {
  const counts = [...new Set([...chunkCounts(s), s.nchunks])].sort((a, b) => a - b);
  const pick = () => picker("Number of chunks", counts, s.nchunks, (nchunks) => does.shape({ nchunks }));
  return [counts.length > 1 ? pick() : `${s.nchunks}`, s.nchunks > 1 ? " chunks" : " chunk"];
}

function startPart(s, catalogue, does) {
  const names = starts(catalogue, s).map(({ algorithm }) => algorithm);
  const begun = names.includes(s.algorithm) ? s.algorithm : s.steps.length ? MINE : null;
  const offered = [[null, "nothing"], ...(begun === MINE ? [[MINE, "my own steps"]] : []), ...names];
  return picker("Start from", offered, begun, (name) => name !== MINE && does.start(name));
}

function pricePart({ nbytes, link }, links, does) {
  const sizes = [...new Set([...SIZED, nbytes])].sort((a, b) => a - b).map((n) => [n, nbytesText(n)]);
  const names = links.map(({ slug, name }) => [slug, name]);
  return [
    picker("Size", sizes, nbytes, (size) => does.price({ nbytes: size })),
    " over ",
    picker("Network", names, link, (slug) => does.price({ link: slug })),
  ];
}

// does: { shape(change), start(algorithm | null), task(name | null), price({ nbytes | link }) }
export function choosing({ s, task, nbytes, link }, { catalogue, links, tasks }, does) {
  const ranks = times(7, (i) => i + 2);
  const targets = [[null, "none"], ...tasks.map(({ name, title }) => [name, title])];
  return [
    h(
      "p",
      { class: "bim-controls" },
      picker("Collective", COLLECTIVES, s.collective, (collective) => does.shape({ collective })),
      rootPart(s, does),
      " on ",
      picker("Number of ranks", ranks, s.nranks, (nranks) => does.shape({ nranks })),
      " ranks, in ",
      chunksPart(s, does),
      ", starting from ",
      startPart(s, catalogue, does),
      ", ",
      pricePart({ nbytes, link }, links, does),
    ),
    h(
      "p",
      { class: "bim-task" },
      "Target: ",
      picker("Target", targets, task?.name ?? null, does.task),
      task && h("span", { class: "bim-note" }, task.text),
    ),
  ];
}
