// What a table offers beside itself: its numbers with all their digits, and all of it as CSV to copy.
import { h } from "./dom.mjs";
import { copy, tool } from "./link.mjs";

const field = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

const csv = (rows) => rows.map((words) => `${words.map(field).join(",")}\n`).join("");

// "-1234567.25" -> "−1,234,567.25"
export const grouped = (text) =>
  text.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ",")).replace("-", "−");

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

export default { grouped, offers };
