// The memory view as a board: a cell per rank and chunk, to press or to drag from, and the step's transfers as arrows.
import { cell, GUTTER } from "../../shared/drawing/cell.mjs";
import { cellLook, touched } from "../../shared/drawing/memory.mjs";
import { badge, canvas, h, rankClass, svg } from "../../shared/page/dom.mjs";
import { times } from "../../shared/page/numbers.mjs";
import { inside } from "../../shared/schedules/cells.mjs";

const SLIM = 420; // pixels: a board narrower than this is on a telephone, whole on one screen with the topology and the bar

// A column per chunk; in all_to_all too, where the player's columns are senders.
export function boardColumns({ schedule: s, columns }) {
  if (s.collective !== "all_to_all") return columns;
  return columns.flatMap(({ slots }) => slots.map((slot) => ({ label: `${slot.mark}`, slots: [slot] })));
}

export function boardSizes(s, width) {
  const pitch = Math.max(28, Math.min(s.nchunks > 2 ? 76 : 112, (width - GUTTER) / s.nchunks));
  const low = width < SLIM ? 30 : 36;
  return { pitch, row: s.nranks <= 4 ? 52 : s.nranks <= 6 ? 40 : low, lane: pitch > 44 ? 16 : 8 };
}

const head = (text, span = 1, scope = "col") => h("th", { scope, colspan: span > 1 && span }, text);

function headRows(s) {
  const numbers = (label) =>
    h(
      "tr",
      {},
      h("td"),
      times(s.nchunks, (c) => head(label(c))),
    );
  if (s.collective !== "all_to_all") return [h("tr", {}, h("td"), head("chunk", s.nchunks)), numbers((c) => c)];
  const senders = times(s.nranks, (r) => head(`from ${r}`, s.nranks, "colgroup"));
  return [h("tr", {}, h("td"), senders), numbers((c) => `${c % s.nranks}`)];
}

const rankHead = (s, rank) =>
  h(
    "th",
    { scope: "row", "data-rank": rank },
    canvas("bim-tag-rank", 26, 26, `rank ${rank}`, badge(rank, s.nranks, 13, 13, 26)),
  );

export const chunkName = (s, chunk) =>
  s.collective === "all_to_all"
    ? `the chunk from rank ${Math.floor(chunk / s.nranks)} for rank ${chunk % s.nranks}`
    : `chunk ${chunk}`;

function build(grid, view, width) {
  const { node, arrows } = grid;
  const s = view.schedule;
  grid.sizes = boardSizes(s, width);
  grid.drawn = [];
  const focus = document.activeElement?.dataset?.at;
  const held = node.contains(document.activeElement);
  grid.buttons = times(s.nranks, (rank) =>
    times(s.nchunks, (chunk) =>
      h("button", { type: "button", class: "bim-spot", "data-at": `${rank},${chunk}`, tabindex: "-1" }),
    ),
  );
  const rows = grid.buttons.map((row, rank) =>
    h(
      "tr",
      {},
      rankHead(s, rank),
      row.map((button) => h("td", {}, button)),
    ),
  );
  const table = h(
    "table",
    { style: `--pitch:${grid.sizes.pitch}px;--row:${grid.sizes.row}px` },
    h("caption", { class: "bim-sr" }, "Who holds what: a row per rank, a column per chunk; press a cell to send it"),
    h("thead", {}, headRows(s)),
    h("tbody", {}, rows),
  );
  node.replaceChildren(table, arrows);
  const first = (held && grid.buttons.flat().find((button) => button.dataset.at === focus)) || grid.buttons[0][0];
  first.tabIndex = 0;
  if (held) first.focus({ preventScroll: true });
}

// view; state: whose memory is shown; step: the moves that are drawn; picked, fault: [rank, chunk] or null; judged: what is
// still owed at the end is marked, too
function show(grid, view, { state, step, picked, fault, judged }) {
  const columns = boardColumns(view);
  const s = view.schedule;
  const marks = touched(step);
  grid.buttons.forEach((row, rank) =>
    row.forEach((button, chunk) => {
      const at = `${rank},${chunk}`;
      const isFault = fault !== null && at === `${fault}`;
      const look = cellLook({ ...view, last: isFault || judged ? state : -1 }, state, rank, columns[chunk]);
      const kind = [marks.get(at), look.idle && "bim-idle"].filter(Boolean).join(" ");
      const isPicked = picked !== null && at === `${picked}`;
      const can = picked !== null && rank !== picked[0] && chunk === picked[1];
      const key = JSON.stringify([look.slots, kind, isPicked, can, isFault]);
      if (grid.drawn[rank * s.nchunks + chunk] === key) return;
      grid.drawn[rank * s.nchunks + chunk] = key;
      const [w, tall] = [grid.sizes.pitch - grid.sizes.lane, grid.sizes.row - 10];
      const picture = canvas("", w, tall, "", cell(look.slots, w, tall, null, kind));
      picture.removeAttribute("role");
      picture.setAttribute("aria-hidden", "true");
      const holds = inside(view.run, state, rank, columns[chunk]) || "nothing";
      const said = `rank ${rank}, ${chunkName(s, chunk)}: ${holds}${isFault ? ", wrong" : ""}`;
      button.replaceChildren(picture, h("span", { class: "bim-sr" }, said));
      button.className = `bim-spot ${isPicked ? "bim-picked" : ""} ${can ? "bim-can" : ""} ${isFault ? "bim-fault" : ""}`;
      button.setAttribute("aria-pressed", `${isPicked}`);
    }),
  );
  point(grid, step);
}

// An arrow from the sender's cell to the receiver's, in the lane right of the column.
function point(grid, step) {
  const { node, arrows } = grid;
  const home = node.getBoundingClientRect();
  const middle = (rank, chunk) => {
    const box = grid.buttons[rank][chunk].getBoundingClientRect();
    return { x: box.left - home.left + grid.sizes.pitch - grid.sizes.lane, y: box.top - home.top + box.height / 2 };
  };
  arrows.replaceChildren(
    ...step.map((t) => {
      const [a, b] = [middle(t.src, t.chunk), middle(t.dst, t.chunk)];
      const bulge = Math.min(grid.sizes.lane + 4, 8 + 3 * Math.abs(t.src - t.dst));
      const [from, to] = [a.y + Math.sign(b.y - a.y) * 5, b.y - Math.sign(b.y - a.y) * 5];
      const d = `M${a.x} ${from}C${a.x + bulge} ${from} ${b.x + bulge} ${to} ${b.x + 3} ${to}`;
      return svg(
        "g",
        { class: rankClass(t.src, Infinity) },
        svg("path", { class: `bim-thread ${t.adds ? "" : "bim-over"}`, d }),
        svg("path", { class: "bim-arrow", d: `M${b.x - 2} ${to}l7 -4v8z` }),
      );
    }),
  );
}

function at(grid, target) {
  const found = target.closest?.("[data-at]");
  return found && grid.node.contains(found) ? found.dataset.at.split(",").map(Number) : null;
}

function drop(grid, { target }) {
  const { does, node } = grid;
  const [from, to] = [grid.held, at(grid, target)];
  grid.held = null;
  if (!from || `${from}` === `${to}`) return;
  if (to && to[0] !== from[0]) does.send(...from, to[0]);
  else if (node.isConnected) does.leave();
}

// does: { press(rank, chunk), pull(rank, chunk), send(src, chunk, dst), leave() }. -> { node, build(view, width), show({...}) }
export function board(does) {
  const grid = { does };
  grid.drop = (...args) => drop(grid, ...args);
  grid.build = (view, width) => build(grid, view, width);
  grid.show = (...args) => show(grid, ...args);
  grid.node = h("div", { class: "bim-board" });
  grid.arrows = svg("svg", { class: "bim-board-arrows", "aria-hidden": "true" });
  Object.assign(grid, { buttons: [], drawn: [], sizes: null });

  grid.held = null;
  const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  grid.node.addEventListener("click", ({ target }) => {
    const spot = at(grid, target);
    if (spot) does.press(...spot);
  });
  grid.node.addEventListener("focusin", ({ target }) => {
    if (at(grid, target)) {
      grid.buttons.flat().forEach((one) => {
        one.tabIndex = one === target ? 0 : -1;
      });
    }
  });
  grid.node.addEventListener("keydown", (event) => {
    const spot = at(grid, event.target);
    if (event.key === "Escape") does.leave();
    if (!spot || !MOVES[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // the arrows of a cell are its own, not the player's
    const [rank, chunk] = MOVES[event.key].map((by, i) => spot[i] + by);
    grid.buttons[rank]?.[chunk]?.focus();
  });
  grid.node.addEventListener("pointerdown", (event) => {
    grid.held = event.pointerType === "touch" || event.button ? null : at(grid, event.target);
  });
  grid.node.addEventListener("pointerover", ({ target }) => {
    const spot = at(grid, target);
    if (grid.held && spot && `${spot}` !== `${grid.held}`) does.pull(...grid.held);
  });

  document.addEventListener("pointerup", grid.drop);
  return {
    node: grid.node,
    build: grid.build,
    show: grid.show,
    close: () => document.removeEventListener("pointerup", grid.drop),
  };
}
