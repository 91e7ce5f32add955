// What a picture says, as a table under it, and a table's rows.
import { h } from "./dom.mjs";

export const row = (kind, words) => h("tr", {}, words.map((word, i) => (kind === "th" || !i
  ? h("th", { scope: kind === "th" ? "col" : "row" }, word) : h("td", {}, word))));

export const table = (caption, head, rows) => h("table", {}, h("caption", {}, caption), h("thead", {}, row("th", head)), h("tbody", {}, rows));

// A <details> whose table, or tables, are built only while it is open. -> { node, refresh() }
export function twin(summary, build) {
  const body = h("div", { class: "bim-scroll", tabindex: "0", role: "region", "aria-label": summary });
  const refresh = () => { if (node.open) body.replaceChildren(...[build()].flat(2)); };
  const node = h("details", { class: "bim-details", toggle: () => refresh() }, h("summary", {}, summary), body);
  return { node, refresh };
}
