// What a picture says, as a table under it: a column's unit stands in its head, numbers on the right, under it.
import { h } from "./dom.mjs";
import { number } from "./numbers.mjs";
import { grouped, offers } from "./sheet.mjs";

const NEARLY = 1.0005; // what rounds up to one of a unit is told in it
const isNumber = (word) => typeof word === "number";

export const row = (kind, words) =>
  h(
    "tr",
    {},
    words.map((word, i) =>
      kind === "th" || !i ? h("th", { scope: kind === "th" ? "col" : "row" }, word) : h("td", {}, word),
    ),
  );

// The largest of the units below the middle of the numbers, which span powers of ten; helpers/view/shared/columns.py does the same.
function scale(units, words) {
  const seen = words.filter((word) => isNumber(word) && word > 0);
  if (!seen.length) return units.at(-1);
  const middle = Math.sqrt(Math.min(...seen) * Math.max(...seen));
  return units.find(([size]) => size <= middle * NEARLY) ?? units.at(-1);
}

// Columns of one kind of units are told in one unit.
function columnsOf(head, rows) {
  const words = head.map((_, i) => rows.map((one) => one[i]));
  const alike = (units) => words.filter((_, i) => head[i][1] === units).flat();
  return head.map((one, i) => {
    const [text, units, show] = typeof one === "string" ? [one] : one;
    const [size, unit] = units ? scale(units, alike(units)) : [1, ""];
    return { text: unit ? `${text} (${unit})` : text, size, show, right: i > 0 && words[i].some(isNumber) };
  });
}

function cell(word, { size, show, right }, i) {
  const [tag, scope] = i ? ["td", null] : ["th", "row"];
  const kind = right && "bim-right";
  if (!isNumber(word)) return h(tag, { scope, class: kind }, word);
  const full = `${+(word / size).toPrecision(12)}`;
  const short = show ? show(word) : grouped(`${number(+full)}`);
  return h(tag, { scope, class: kind, "data-full": short !== full && full }, short);
}

// head: words, or [words, units as in numbers.mjs, show(number) where three digits are not what is wanted]; rows: words and numbers.
export function table(caption, head, rows) {
  const columns = columnsOf(head, rows);
  const top = columns.map(({ text, right }) => h("th", { scope: "col", class: right && "bim-right" }, text));
  const body = rows.map((words) =>
    h(
      "tr",
      {},
      words.map((word, i) => cell(word, columns[i], i)),
    ),
  );
  return h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, top)), h("tbody", {}, body));
}

// A <details> whose table, or tables, are built only while it is open. They stand before it opens: the event `toggle` comes
// some frames later, and serves only what opens without a press, as a search in the page does. does(isOpen) hears of both,
// filled() of every new table.
// -> { node, refresh() }
export function folded(
  kind,
  summary,
  build,
  { body = h("div"), open = false, does = () => {}, filled = () => {} } = {},
) {
  const fill = () => {
    body.replaceChildren(...[build()].flat(2).filter(Boolean));
    filled();
  };
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
  const body = h("div", { class: "bim-scroll", tabindex: "0", role: "region", "aria-label": summary });
  const offered = offers(body);
  const made = folded("bim-details", summary, build, { body, filled: offered.again });
  made.node.append(offered.node);
  return made;
}
