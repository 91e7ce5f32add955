// What a picture says, as a table under it, and a table's rows.
import { h } from "./dom.mjs";

export const row = (kind, words) =>
  h(
    "tr",
    {},
    words.map((word, i) =>
      kind === "th" || !i ? h("th", { scope: kind === "th" ? "col" : "row" }, word) : h("td", {}, word),
    ),
  );

export const table = (caption, head, rows) =>
  h("table", {}, h("caption", {}, caption), h("thead", {}, row("th", head)), h("tbody", {}, rows));

// A <details> whose table, or tables, are built only while it is open. They stand before it opens: the event `toggle` comes
// some frames later, and serves only what opens without a press, as a search in the page does. does(isOpen) hears of both.
// -> { node, refresh() }
export function folded(kind, summary, build, { body = h("div"), open = false, does = () => {} } = {}) {
  const fill = () => body.replaceChildren(...[build()].flat(2).filter(Boolean));
  const settle = (is) => {
    does(is);
    if (!is) body.replaceChildren();
    else if (!body.firstChild) fill();
  };
  const node = h(
    "details",
    { class: kind, open, toggle: () => settle(node.open) },
    h("summary", { click: () => node.open || settle(true) }, summary),
    body,
  );
  if (open) fill();
  return { node, refresh: () => node.open && fill() };
}

export function twin(summary, build) {
  return folded("bim-details", summary, build, {
    body: h("div", { class: "bim-scroll", tabindex: "0", role: "region", "aria-label": summary }),
  });
}
