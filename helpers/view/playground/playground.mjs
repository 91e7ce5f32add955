// The playground: draw or type a schedule, check it, and see the counterexample move. Ties schedule, board, text and clock together.
import { memoryTable } from "../shared/drawing/tables.mjs";
import { listen, transport } from "../shared/page/controls.mjs";
import { copy } from "../shared/page/link.mjs";
import { shown, motion } from "../shared/page/motion.mjs";
import { twin } from "../shared/page/tables.mjs";
import { compute } from "../shared/schedules/model.mjs";
import { board } from "./board.mjs";
import { choosing } from "./choosing.mjs";
import { easel, whereabouts } from "./easel.mjs";
import { added, doubled, dropped, emptied, keeper, removed, reshaped } from "./editing.mjs";
import { exchange } from "./exchange.mjs";
import { furnish } from "./furniture.mjs";
import { cellText, fits } from "./link.mjs";
import { byAdding, least, pledge } from "./proof/pledge.mjs";
import { moveText, prove, unsound } from "./proof/proof.mjs";
import { forbidden } from "./proof/rules.mjs";
import { drawnFigures, verdictWords } from "./saying.mjs";
import { errorText, lineAt, read, scheduleText, stepsText } from "./writing.mjs";

const UNDRAWABLE = "The playground draws 2 to 8 ranks and no switches, up to 64 steps, in as many chunks as the collective can share out.";

function placeOf(el) {
  const mounts = [...document.querySelectorAll('.bim-mount[data-kind="playground"]')];
  return Math.max(0, mounts.indexOf(el.closest(".bim-mount")));
}

function render({ model, el }) {
  const live = Boolean(model.get("live"));
  const { tasks, promises } = model.get("playground");
  const [catalogue, links] = [model.get("catalogue"), model.get("links")];
  // fresh: the next transfer opens a step; picked: the cell that waits for its receiver; fault: what a check found; error: what is
  // wrong with the typed text; typing: a run of keys, undone at once
  const ui = { s: null, view: null, past: null, task: null, nbytes: 0, link: "", adds: false, fresh: false, picked: null, fault: null, judged: false, error: null, typing: null };
  const task = () => tasks.find(({ name }) => name === ui.task) ?? null;

  const does = {
    adds(adds) { ui.adds = adds; parts.adds.show(adds); },
    press(rank, chunk) {
      if (ui.picked && ui.picked[0] !== rank) does.send(...ui.picked, rank);
      else lift(`${ui.picked}` === `${[rank, chunk]}` ? null : [rank, chunk]);
    },
    pull(rank, chunk) { if (`${ui.picked}` !== `${[rank, chunk]}`) lift([rank, chunk]); },
    leave: () => lift(null),
    send(src, chunk, dst) {
      const next = added(ui.s, at.here(), { chunk, src, dst, adds: ui.adds }, ui.fresh);
      const bad = unsound(next);
      lift(null);
      if (bad) tell(`Not added: ${bad.message}.`);
      else edit(next, at.here());
    },
    remove(move_) {
      const here = at.here();
      edit(removed(ui.s, here, move_), here, `Removed ${moveText(move_)} from step ${here + 1}.`);
      (parts.moves.querySelector("button") ?? parts.stage).focus();
    },
    fresh() { move.to(at.here()); Object.assign(ui, { fresh: true, fault: null, judged: false }); lift(null); speak(); },
    double: () => edit(doubled(ui.s, at.here()), at.here() + 1),
    drop: () => edit(dropped(ui.s, at.here()), at.here()),
    undo: () => revisit(-1),
    redo: () => revisit(1),
    type(text) {
      const { s, error } = read(text, ui.s);
      refuse(error ? errorText(error) : fits(s) ? null : UNDRAWABLE);
      if (ui.error || scheduleText(s) === scheduleText(ui.s)) return;
      ui.typing ??= {};
      edit(s, lineAt(text, parts.text.selectionStart), null, ui.typing);
    },
    typed() { ui.typing = null; if (!ui.error) write(); },
    check() {
      if (ui.error) return judge({ kept: false, lead: "Not a schedule yet:", text: ui.error });
      const against = task() && forbidden(ui.s, task().rules);
      const found = prove(ui.s) ?? (against && { ...against, rule: true });
      Object.assign(ui, { fault: found, judged: true, fresh: false, picked: null });
      judge(verdictWords(ui.view, found, task()));
      if (found) move.play(Math.max(0, found.from - 1), found.from);
      else draws.draw();
    },
    shape(change) { ui.task = null; edit(reshaped(ui.s, change), 0); if (change.collective) does.adds(byAdding(change)); },
    start(algorithm) {
      if (algorithm === null) edit(emptied(ui.s), 0);
      else world.ask(algorithm);
    },
    task(name) {
      ui.task = name;
      const found = task();
      if (!found) return edit(ui.s, at.here());
      const { collective, nranks, nchunks, root } = found;
      edit(emptied(reshaped(ui.s, { collective, nranks, root, ...(nchunks && { nchunks }) })), 0, `Target: ${found.title}.`);
      does.adds(byAdding(found));
    },
    price(change) { Object.assign(ui, change); take(ui.s, at.here()); world.share(); },
    copyLink() { history.replaceState(null, "", world.anchor()); copy(location.href, "Link", parts.notice); },
    copyPython: () => copy(cellText(ui.s, ui.nbytes, ui.link), "Python", parts.notice),
    first: () => step(() => move.to(0)), last: () => step(() => move.to(ui.s.steps.length)),
    back: () => step(() => move.by(-1)), forward: () => step(() => move.by(1)), toggle: () => step(move.toggle),
    seek: (n) => step(() => move.to(n)), hold: (position) => step(() => move.hold(position)), speed: (factor) => move.speed(factor),
  };
  const move = motion(el.dataset.clock === "manual", () => draws.draw(), () => speak());
  const at = whereabouts(ui, move);
  const bar = transport(does);
  const grid = board(does);
  const table = twin("This picture as a table", () => memoryTable(ui.view, shown(move.position()).state, false));
  const parts = furnish(does, { live, bar: bar.node, board: grid.node, details: table.node });
  const draws = easel(ui, move, at, parts, { grid, bar, table }, does);

  const state = () => ({ s: ui.s, nbytes: ui.nbytes, link: ui.link, step: Math.round(move.clock().target), task: ui.task });
  const tell = (text) => parts.notice.replaceChildren(text);
  const world = exchange(model, placeOf(el), state, { open, tell, begin: (s) => edit(s, 0) });

  function refuse(text) {
    ui.error = text;
    parts.text.setAttribute("aria-invalid", `${text !== null}`);
    parts.problem.textContent = text ?? "";
  }

  function write() { refuse(null); parts.text.value = stepsText(ui.s.steps); }
  function step(go) { Object.assign(ui, { fresh: false, picked: null }); go(); }
  function lift(spot) { ui.picked = spot; draws.draw(); if (spot) speak(); }

  function judge(words) {
    parts.verdict.classList.toggle("bim-wrong-text", words?.kept === false);
    parts.verdict.textContent = words ? `${words.lead} ${words.text}` : "Not checked yet.";
    if (words) parts.live.textContent = parts.verdict.textContent;
  }

  function speak() {
    const { lead, text } = draws.words();
    if (!ui.fault) parts.live.textContent = `${lead}: ${text}`;
    if (!move.moving()) world.share();
  }

  // Another schedule, where to stand in it, and what is said instead of the step's sentence; run: typing that goes on.
  function edit(s, here, said = null, run = null) {
    take(s, here, said);
    ui.past.push({ s, here, task: ui.task }, run);
    tools();
    world.share();
  }

  function revisit(by) {
    const then = ui.past.go(by);
    ui.task = then.task;
    take(then.s, then.here);
    tools();
    world.share();
  }

  function tools() {
    parts.tools.undo.disabled = !ui.past.back();
    parts.tools.redo.disabled = !ui.past.on();
  }

  function take(s, here, said = null) {
    const [top, bottom] = least(s);
    const trace = { text: scheduleText(s), ...pledge(s), factor: top / bottom, promise: promises[s.collective] };
    const view = compute(trace, ui.nbytes, links.find(({ slug }) => slug === ui.link));
    Object.assign(ui, { s, view, fresh: false, picked: null, fault: null, judged: false });
    move.stand(s.steps.length, Math.min(here, s.steps.length));
    judge(null);
    tell("");
    if (!ui.typing) write();
    parts.text.rows = Math.min(16, Math.max(5, s.steps.length + 1));
    const focus = parts.controls.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
    parts.controls.replaceChildren(...choosing({ ...state(), task: task() }, { catalogue, links, tasks }, does));
    if (focus) parts.controls.querySelector(`[aria-label="${focus}"]`)?.focus();
    parts.figures.replaceChildren(...drawnFigures(view, task()));
    draws.redraw();
    if (said) parts.live.textContent = said;
    else speak();
  }

  function open(next) {
    Object.assign(ui, { nbytes: next.nbytes, link: next.link, task: next.task ?? null });
    if (ui.past) edit(next.s, next.step);
    else ui.past = keeper({ s: next.s, here: next.step, task: ui.task }), take(next.s, next.step), tools();
    does.adds(byAdding(next.s));
    parts.live.textContent = ""; // nothing is said before the reader does something
  }

  el.append(parts.root);
  parts.root.playground = { tick: move.tick, position: move.position }; // tests drive time
  listen(parts.root, does);
  world.start();
  let width = parts.stage.clientWidth;
  const watcher = new ResizeObserver(() => { if (width !== parts.stage.clientWidth) { width = parts.stage.clientWidth; draws.redraw(); } });
  watcher.observe(parts.stage);
  return () => {
    move.stop();
    grid.close();
    watcher.disconnect();
    world.close();
  };
}

export default { render };
