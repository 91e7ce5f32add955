// A page to hand on: the picture and who holds the peak in one file that any browser shows, without scripts; this widget opens it again.
// It holds names of functions and files with their lines, and no folders, hosts or people but those in the names of the files shown.
import { h } from "../../shared/page/dom.mjs";
import { swatch, tokenOf } from "../draw/colours.mjs";
import { images } from "../draw/easel.mjs";
import { amount } from "../trace/amounts.mjs";
import { pack } from "../trace/pack.mjs";

const ID = "bim-memory";
const TAG = "script"; // written out it would end the script that this is, where that stands in a page
const STORED = new RegExp(`<${TAG} type="application/json" id="${ID}">(.*?)</${TAG}>`, "s");
const STYLE = `body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; } th[scope="row"] { font-weight: 400; white-space: nowrap; }
body { background: var(--bim-panel); color: var(--bim-ink); }
div { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { flex: 1 1 20rem; margin: 0; } img { width: 100%; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 1rem 2px 0; text-align: left; border-bottom: 1px solid var(--bim-line); } 
td { text-align: right; }
.bim-swatch { display: inline-block; width: 11px; height: 11px; margin-right: 8px; print-color-adjust: exact; }
.bim-striped { background-image: repeating-linear-gradient(-45deg, var(--bim-panel) 0 1.2px, #0000 1.2px 4.2px); }`;

// What is on show: { names, traces: of each file [[rank, t]] }.
const shown = ({ opened, traces, rival, pair }) => [
  { name: opened, traces },
  ...(pair ? [{ name: rival.name, traces: rival.traces }] : []),
];

// Each band at the moment, and at each file's peak.
function bandTable(ui, names) {
  const { t, at, bands, unit, others, pair } = ui;
  const columns = [
    ["at this moment", t, at],
    ...[t, ...(pair ? [others[0].t] : [])].map((one, f) => [
      pair ? `${names[f]} at its peak` : "at the peak",
      one,
      one.peak,
    ]),
  ];
  const held = columns.map(([, one, i]) => bands.at(one, [i])[0]);
  const row = (kind, name, cells) => h("tr", {}, h("th", { scope: kind }, name), cells);
  const told = (nbytes) => h("td", {}, amount(nbytes, unit));
  const rows = bands.names.map((name, b) =>
    row(
      "row",
      [swatch(bands.ink(b)), name],
      held.map((bytes) => told(bytes[b])),
    ),
  );
  const head = columns.map(([words]) => h("th", { scope: "col" }, words));
  const sums = columns.map(([, one, i]) => told(one.total[i]));
  return h("table", {}, row("col", `Line, in ${unit}`, head), rows.reverse(), row("row", "In all", sums));
}

// The colours as the page has them now.
function colourRule({ bands }, root) {
  const style = getComputedStyle(root);
  const names = ["--bim-panel", "--bim-ink", "--bim-line", ...bands.names.map((_, b) => tokenOf(bands.ink(b)))];
  return `:root { ${names.map((name) => `${name}: ${style.getPropertyValue(name)};`).join(" ")} }`;
}

// Texts with the files' names, or with numbers in their place; the longer names first, which may hold the shorter.
function callerOf(files, isNameless) {
  if (!isNameless) return (text) => text;
  const known = files.map(({ name }, f) => [name, `snapshot ${f + 1}`]).sort(([a], [b]) => b.length - a.length);
  return (text) => known.reduce((told, [name, number]) => told.replaceAll(name, number), text);
}

const AGAIN =
  "To look nearer, drop this file on the picture of memory in Bytes in Motion, where snapshots of one's own are opened.";

// What is seen of the page.
function bodyOf({ ui, parts }, names, called) {
  const pictures = images(parts, ui).map((src, f) => {
    const alt = called(parts.pictures[f].canvas.getAttribute("aria-label"));
    return h("figure", {}, h("figcaption", {}, names[f]), h("img", { src, alt }));
  });
  const lines = (all) => all.map((line) => h("p", {}, called(line)));
  return h(
    "body",
    {},
    h("h1", {}, `Who holds the memory of ${names.join(" and ")}?`),
    lines(ui.held),
    h("div", {}, pictures),
    lines([parts.sentence.textContent]),
    bandTable(ui, names),
    h("p", {}, AGAIN),
  );
}

// isNameless: the files are told by numbers. -> the page as HTML
export function pageOf(widget, state, isNameless) {
  const { ui, parts } = widget;
  const files = shown(ui);
  const called = callerOf(files, isNameless);
  const names = files.map(({ name }) => called(name));
  const data = {
    state,
    files: files.map(({ traces }, f) => ({ name: names[f], ranks: traces.map(([, t]) => pack(t)) })),
  };
  const title = h("title", {}, `Memory of ${names.join(" and ")}`).outerHTML;
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">${title}`;
  const style = `<style>${colourRule(ui, parts.root)}\n${STYLE}</style>`;
  const stored = `<${TAG} type="application/json" id="${ID}">${JSON.stringify(data).replaceAll("<", "\\u003c")}</${TAG}>`;
  const body = bodyOf(widget, names, called).outerHTML;
  return `<!doctype html><html lang="en"><head>${head}${style}</head>${body}${stored}</html>`;
}

// The data in such a page, null where it is none.
export const storedIn = (text) => STORED.exec(text)?.[1] ?? null;

export function download(html, name) {
  const address = URL.createObjectURL(new Blob([html], { type: "text/html" }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
