// What stands under a widget: its tools, and what its picture says as a table. What goes on the clipboard is said; where the browser
// refuses, it is shown instead. A column's unit stands in its head, numbers on the right, under it.
import { textOf } from "./copied.mjs";
import { h } from "./dom.mjs";
import { grouped, number } from "./numbers.mjs";

const NEARLY = 1.0005; // what rounds up to one of a unit is told in it
const isNumber = (word) => typeof word === "number";

export async function copy(text, what, notice) {
  try {
    await navigator.clipboard.writeText(text);
    notice.replaceChildren(`${what} copied.`);
  } catch {
    const box = h("textarea", {
      readonly: true,
      rows: Math.min(6, text.split("\n").length),
      "aria-label": `${what}, to copy by hand`,
    });
    box.value = text;
    notice.replaceChildren(box);
    box.select();
  }
}

// The address of what stands there: in the bar, and on the clipboard.
function share(address, notice) {
  history.replaceState(null, "", address);
  return copy(location.href, "Link", notice);
}

export const tool = (words, click, more) => h("button", { type: "button", class: "bim-tool", click, ...more }, words);

// encode(s, index), and python(s) where it has one, tell what stands there.
// Links can be copied where an address holds the state: on the page, not in a kernel.
export function tools(widget, encode, python, notice) {
  return h(
    "div",
    { class: "bim-tools" },
    !widget.live && tool("Copy link", () => share(encode(widget.s, widget.index), notice)),
    python && tool("Copy as Python", () => copy(textOf(python(widget.s)), "Python", notice)),
    notice,
  );
}

// What a table offers beside itself: its numbers with all their digits, and all of it as CSV to copy.
const field = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

const csv = (rows) => rows.map((words) => `${words.map(field).join(",")}\n`).join("");

const wordsOf = ({ rows }) =>
  [...rows].map(({ cells }) => [...cells].map((cell) => cell.dataset.full ?? cell.textContent));

// What stands in the tables of a box; of several each after its caption.
function allOf(box) {
  const tables = [...box.querySelectorAll("table")];
  if (tables.length === 1) return wordsOf(tables[0]);
  return tables.flatMap((one) => [[one.caption.textContent], ...wordsOf(one)]);
}

// Cells that have all their digits in data-full: whether that is more than they show, and showing it.
function cellsOf(box) {
  const cells = () => [...box.querySelectorAll("[data-full]")];
  const short = ({ dataset, textContent }) => (dataset.short ??= textContent);
  return {
    isMore: () => cells().some((cell) => short(cell) !== grouped(cell.dataset.full)),
    turn: (isWhole) =>
      cells().forEach((cell) => {
        const rounded = short(cell);
        cell.textContent = isWhole ? grouped(cell.dataset.full) : rounded;
      }),
  };
}

// box: where the tables stand; rows(): what is copied, the tables' own unless told; shows: { isMore(), turn(isWhole) }; words: of that.
// -> the line of tools, and again() for new tables
export function offers(box, { rows = () => allOf(box), shows = cellsOf(box), words = "All digits" } = {}) {
  const notice = h("span", { class: "bim-told", role: "status" });
  const copied = tool("Copy as CSV", () => copy(csv(rows()), "CSV", notice));
  let isWhole = false;
  const digits = tool(words, () => {
    isWhole = !isWhole;
    again();
  });
  function again() {
    if (!shows.isMore()) digits.remove();
    else if (!digits.parentNode) copied.before(digits);
    digits.setAttribute("aria-pressed", `${isWhole}`);
    shows.turn(isWhole);
    notice.replaceChildren();
  }
  const node = h("div", { class: "bim-tools" }, digits, copied, notice);
  again();
  return { node, again };
}

export const row = (kind, words) =>
  h(
    "tr",
    {},
    words.map((word, i) =>
      kind === "th" || !i ? h("th", { scope: kind === "th" ? "col" : "row" }, word) : h("td", {}, word),
    ),
  );

// The largest of the units below the middle of the numbers, which span powers of ten; helpers/view/shared/words.py does the same.
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

export default { grouped, offers };
