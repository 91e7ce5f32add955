// Draws what stands on the desk: board, topology, time, sentence, the step's transfers. Drawn anew only where something changed.
import { timeView } from "../../shared/drawing/time.mjs";
import { topologyView } from "../../shared/drawing/topology.mjs";
import { h } from "../../shared/page/dom.mjs";
import { shown } from "../../shared/page/motion.mjs";
import { moveText } from "../proof/proof.mjs";
import { boardSizes } from "./board.mjs";
import { moveList, stepWords } from "./saying.mjs";

const ROOMY = 620;
const HEADS = 72; // pixels of a board over its rows

// Where new transfers go, counted from 0: the step about to be taken; after a check that failed, the step to blame.
export function whereabouts(ui, move) {
  const blamed = () => ui.fault?.from > 0 && move.position() === ui.fault.from;
  const here = () => (blamed() ? ui.fault.from - 1 : Math.floor(move.position()));
  const fresh = () => ui.fresh || here() >= ui.s.steps.length;
  return { blamed, here, fresh, step: () => (fresh() ? [] : ui.s.steps[here()]) };
}

// What the board marks as wrong at a state: [rank, chunk] or null.
function marked({ fault }, blamed, state) {
  const seen = blamed || !fault?.from || (state === fault.from - 1 && !fault.end);
  return fault?.chunk !== undefined && seen ? [fault.rank, fault.chunk] : null;
}

function words(views) {
  return stepWords(views.ui.view, views.at.here() + 1, views.at.fresh(), views.ui.picked);
}

function redraw(views) {
  const { parts, ui, does, grid } = views;
  const wide = parts.stage.clientWidth >= ROOMY;
  parts.root.classList.toggle("bim-wide", wide);
  const room = parts.memory.body.clientWidth || 320;
  const board = HEADS + boardSizes(ui.s, room).row * ui.s.nranks;
  const tall = wide ? Math.max(220, board - 24) : 200;
  parts.stage.parentNode.style.setProperty("--bim-first", `${board}px`); // the bar never lies on cells that can be pressed
  parts.time.node.hidden = !ui.s.steps.length;
  ui.topology = topologyView(ui.view, parts.topology.body.clientWidth || 280, tall);
  ui.time = timeView(ui.view, parts.time.body.clientWidth || 320, does.hold, does.seek);
  parts.topology.body.replaceChildren(ui.topology.node);
  ui.topology.node.querySelectorAll(".bim-badge").forEach((one, rank) => {
    one.dataset.rank = rank; // it can be pressed as a receiver
  });
  parts.time.body.replaceChildren(ui.time.node);
  grid.build(ui.view, room);
  views.drawn = "";
  draw(views);
}

function draw(views) {
  const { move, at, ui } = views;
  const now = move.position();
  const resting = Number.isInteger(now) && !at.blamed();
  const ahead = at.fresh() ? -now : 1e-6; // at rest the step to come is on show, its chunks still at their senders
  ui.topology.show(resting ? now + ahead : now);
  ui.time.show(now);
  const look = [
    at.here(),
    shown(now).state,
    at.fresh(),
    ui.picked,
    ui.judged,
    at.blamed(),
    move.clock().playing,
  ].join();
  if (views.drawn === look) return;
  views.drawn = look;
  fill(views, at.here() + 1, at.step(), shown(now));
}

function fill(views, n, moves, { state, step }) {
  const { grid, ui, at, parts, does, bar, move, table } = views;
  const { lead, text } = words(views);
  grid.show(ui.view, {
    state,
    step: moves,
    picked: ui.picked,
    fault: marked(ui, at.blamed(), state),
    judged: ui.judged && state === ui.view.last,
  });
  parts.memory.heading.textContent = state ? `Who holds what after step ${state}?` : "Who holds what at the start?";
  parts.topology.heading.textContent = `Who sends to whom in step ${n}?`;
  parts.sentence.replaceChildren(h("strong", {}, `${lead}. `), text);
  parts.moves.replaceChildren(
    ...moveList(
      n,
      moves.map((t) => ({ ...t, text: moveText(t) })),
      does.remove,
    ),
  );
  parts.steps.double.disabled = parts.steps.drop.disabled = !moves.length;
  bar.show(move.clock(), step, lead);
  table.refresh();
}

// does: { remove(move), hold(position), seek(step) } -> { redraw(): after another width or schedule, draw(), words() }
export function easel(ui, move, at, parts, { grid, bar, table }, does) {
  const views = { ui, at, parts, does, grid, move, bar, table };
  views.redraw = () => redraw(views);
  views.draw = () => draw(views);
  views.words = () => words(views);
  views.drawn = "";

  return { redraw: views.redraw, draw: views.draw, words: views.words };
}
