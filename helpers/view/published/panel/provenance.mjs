// Each curve by its letter: what it is, what is odd about it, and where it comes from, one click away.
import { h } from "../../shared/page/dom.mjs";
import { folded } from "../../shared/page/tools.mjs";
import { nameOf, oddity, summary } from "../data/words.mjs";
import { chip } from "./controls.mjs";

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
