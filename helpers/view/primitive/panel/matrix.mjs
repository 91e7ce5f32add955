// Two tables, ranks by slots: before, where every number can be written over, and after, where every cell tells where it comes from.
import { badge, canvas, h, set } from "../../shared/page/dom.mjs";
import { times } from "../../shared/page/numbers.mjs";
import { gives, numberText } from "../numbers.mjs";

const rankHead = (rank, nranks) =>
  h("th", { scope: "row" }, canvas("bim-tag-rank", 26, 26, `rank ${rank}`, badge(rank, nranks, 13, 13, 26)));

// Whose contributions are inside: a strip in the ranks' colours under the number.
const strip = (ranks) =>
  h(
    "span",
    { class: "bim-strip", "aria-hidden": "true" },
    ranks.map((r) => h("i", { class: `bim-r${r % 8}` })),
  );

const empty = () => h("td", {}, h("span", { class: "bim-nothing" }, "–"));

// unit: what the head of a column says instead of its slot's number
function grid(caption, nranks, slots, unit, row) {
  const head = h(
    "tr",
    {},
    h("td", {}),
    times(slots, (i) => h("th", { scope: "col" }, unit ?? i)),
  );
  const body = times(nranks, (rank) => h("tr", {}, rankHead(rank, nranks), row(rank)));
  return h(
    "table",
    { class: "bim-matrix" },
    h("caption", { class: "bim-sr" }, caption),
    h("thead", {}, head),
    h("tbody", {}, body),
  );
}

const digits = (text) => `--digits:${Math.max(2, text.length)}`;

// does: { write(rank, slot, text), paste(rank, slot, text) }
export function beforeTable(s, does) {
  const field = (rank, slot) => {
    const text = `${s.rows[rank][slot]}`;
    const input = h("input", {
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      spellcheck: "false",
      value: text,
      style: digits(text),
      "data-at": `${rank},${slot}`,
      "aria-label": `Rank ${rank}, slot ${slot}, before`,
      change: () => does.write(rank, slot, input.value),
      focus: () => input.select(),
      paste: (event) => does.paste(event, rank, slot),
    });
    return h("td", {}, h("span", { class: "bim-box" }, input, strip([rank])));
  };
  const unit = s.p.name === "barrier" ? "arrives" : null;
  return grid("Before: what every rank gives, one row per rank", s.nranks, s.length, unit, (rank) =>
    gives(s, rank) ? times(s.length, (slot) => field(rank, slot)) : times(s.length, empty),
  );
}

const look = ({ value, text }, rank, slot) => ({
  style: digits(numberText(value)),
  "aria-label": `${text}, rank ${rank}, slot ${slot}, after`,
});

// cells: [rank][slot] of { value, from, text }; does: { choose(rank, slot), point(rank, slot), leave() }
export function afterTable(s, cells, does) {
  const slots = Math.max(...cells.map((row) => row.length));
  const button = (rank, slot) => {
    const { value, from } = cells[rank][slot];
    return h(
      "td",
      {},
      h(
        "button",
        {
          ...look(cells[rank][slot], rank, slot),
          type: "button",
          class: "bim-box",
          "data-at": `${rank},${slot}`,
          click: () => does.choose(rank, slot, true),
          focus: () => does.choose(rank, slot, false),
          pointerenter: () => does.point(rank, slot),
          pointerleave: does.leave,
        },
        h("span", {}, numberText(value)),
        strip(from.map(([r]) => r)),
      ),
    );
  };
  const unit = s.p.name === "barrier" ? "leaves" : null;
  return grid(
    "After: what every rank holds, one row per rank; a cell tells where it comes from",
    s.nranks,
    slots,
    unit,
    (rank) => (cells[rank].length ? times(slots, (slot) => button(rank, slot)) : times(slots, empty)),
  );
}

// Other numbers in tables that stay: focus that is on its way to a cell must find it there.
export function refill(before, after, s, cells) {
  const each = (table, change) =>
    table.querySelectorAll("[data-at]").forEach((node) => change(node, ...node.dataset.at.split(",").map(Number)));
  each(before, (node, rank, slot) => {
    node.value = `${s.rows[rank][slot]}`;
    node.removeAttribute("aria-invalid");
    set(node, { style: digits(node.value) });
  });
  each(after, (node, rank, slot) =>
    set(node, look(cells[rank][slot], rank, slot)).firstChild.replaceChildren(numberText(cells[rank][slot].value)),
  );
}

// One of a table's cells is reached by Tab, the arrow keys go on from there; in a field left and right are the text's own until its end.
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Enter: [1, 0] };

export function rove(table, at) {
  const all = [...table.querySelectorAll("[data-at]")];
  const enter = (cell) =>
    all.forEach((one) => {
      one.tabIndex = one === cell ? 0 : -1;
    });
  enter(all.find((cell) => cell.dataset.at === at) ?? all[0]);
  table.addEventListener("focusin", ({ target }) => target.dataset.at && enter(target));
  table.addEventListener("keydown", (event) => {
    const { target, key } = event;
    const move = MOVES[key];
    if (!move || !target.dataset.at || (key === "Enter" && target.tagName === "BUTTON")) return;
    const edge = key === "ArrowLeft" ? 0 : target.value?.length;
    const inside = target.selectionStart !== target.selectionEnd || target.selectionStart !== edge;
    if (move[1] && target.tagName === "INPUT" && inside && target.value) return;
    const [rank, slot] = target.dataset.at.split(",").map(Number);
    const next = all.find((cell) => cell.dataset.at === `${rank + move[0]},${slot + move[1]}`);
    event.preventDefault();
    (next ?? target).focus();
  });
}
