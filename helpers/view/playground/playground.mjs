// The playground: draw or type a schedule, check it, and see the counterexample move. Ties schedule, board, text and clock together.
import { memoryTable } from "../shared/drawing/tables.mjs";
import { listen, transport } from "../shared/page/controls.mjs";
import { onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { motion, shown } from "../shared/page/motion.mjs";
import { twin } from "../shared/page/tools.mjs";
import { doesOf } from "./deeds.mjs";
import { exchange } from "./exchange.mjs";
import { board } from "./panel/board.mjs";
import { easel, whereabouts } from "./panel/easel.mjs";
import { furnish } from "./panel/furniture.mjs";
import { edit, open, speak, state, tell } from "./show.mjs";

// fresh: the next transfer opens a step; picked: the cell that waits for its receiver; fault: what a check found; error: what is
// wrong with the typed text; typing: a run of keys, undone at once
function uiOf() {
  return {
    s: null,
    view: null,
    past: null,
    task: null,
    nbytes: 0,
    link: "",
    adds: false,
    fresh: false,
    picked: null,
    fault: null,
    judged: false,
    error: null,
    typing: null,
  };
}

function render({ model, el }) {
  const widget = {};
  widget.state = () => state(widget);
  widget.open = (next) => open(widget, next);
  widget.tell = (text) => tell(widget, text);
  const live = Boolean(model.get("live"));
  const { tasks, promises } = model.get("playground");
  Object.assign(widget, { tasks, promises });
  const [catalogue, links] = [model.get("catalogue"), model.get("links")];
  Object.assign(widget, { catalogue, links });
  widget.ui = uiOf();

  widget.does = doesOf(widget);
  widget.move = motion(
    el.dataset.clock === "manual",
    () => widget.draws.draw(),
    () => speak(widget),
  );
  widget.at = whereabouts(widget.ui, widget.move);
  const bar = transport(widget.does);
  const grid = board(widget.does);
  const table = twin("This picture as a table", () =>
    memoryTable(widget.ui.view, shown(widget.move.position()).state, false),
  );
  widget.parts = furnish(widget.does, { live, bar: bar.node, board: grid.node, details: table.node });
  widget.draws = easel(widget.ui, widget.move, widget.at, widget.parts, { grid, bar, table }, widget.does);

  widget.world = exchange(model, placeOf(el), widget.state, {
    open: widget.open,
    tell: widget.tell,
    begin: (s) => edit(widget, s, 0),
  });

  el.append(widget.parts.root);
  widget.parts.root.playground = { tick: widget.move.tick, position: widget.move.position }; // tests drive time
  listen(widget.parts.root, widget.does);
  widget.parts.root.addEventListener("click", ({ target }) => {
    const rank = target.closest("[data-rank]")?.dataset.rank; // its name in the board, its square in the picture
    if (rank) widget.does.point(Number(rank));
  });
  widget.world.start();
  const stop = onWidth(widget.parts.stage, widget.draws.redraw);
  return () => {
    widget.move.stop();
    grid.close();
    stop();
    widget.world.close();
  };
}

export default { render };
