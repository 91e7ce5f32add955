// The step player: one schedule in three linked views, or two on one clock. This module ties state, clock and drawing together.
import { listen, transport } from "../shared/page/controls.mjs";
import { copy } from "../shared/page/link.mjs";
import { go, moving, seek, shown, start, tick, toggle } from "../shared/page/motion.mjs";
import { twin } from "../shared/page/tables.mjs";
import { controls } from "./controls.mjs";
import { frame } from "./frame.mjs";
import { readout } from "./readout.mjs";
import { encode, python } from "./state/link.mjs";
import { session } from "./state/session.mjs";
import { loadTables, logTable, memoryTable } from "../shared/drawing/tables.mjs";
import { track } from "./track.mjs";
import { words } from "./words.mjs";

const SPEAK_MS = 2000; // while playing, screen readers hear a sentence at most this often
const WIDE = 620;

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Several players on one page are told apart by their order.
function indexOf(el) {
  const mounts = [...document.querySelectorAll('.bim-mount[data-kind="player"]')];
  return Math.max(0, mounts.indexOf(el.closest(".bim-mount")));
}

function render({ model, el }) {
  const index = indexOf(el);
  const ui = { clock: start(0), speed: 1, mode: "slots", load: false, tracks: [], silent: 0, said: "", frame: 0 };
  const talk = session(model, onView, (text) => parts.notice.replaceChildren(text));
  const views = () => talk.state.views;

  const does = {
    first: () => settle(seek(ui.clock, 0)),
    last: () => settle(seek(ui.clock, ui.clock.nsteps)),
    back: () => settle(go(ui.clock, -1, calm())),
    forward: () => settle(go(ui.clock, 1, calm())),
    toggle: () => settle(toggle(ui.clock)),
    seek: (step) => settle(seek(ui.clock, step)),
    speed: (factor) => { ui.speed = factor; },
    mode: (mode) => { ui.mode = mode; draw(); },
    load: (load) => { ui.load = load; draw(); },
    copyLink: () => {
      history.replaceState(null, "", address());
      copy(location.href, "Link", parts.notice);
    },
    copyPython: () => copy(python({ ...talk.state.spec, step: ui.clock.target }, talk.state.trace), "Python", parts.notice),
    enlarge: () => (document.fullscreenElement ? document.exitFullscreen() : parts.root.requestFullscreen()),
  };
  const bar = transport(does);
  const figures = readout();
  const ofEach = (build) => () => views().map((view, i) => {
    const made = [build(view, own()[i])].flat();
    if (views().length > 1) made.forEach((one) => one.caption.prepend(`${view.schedule.algorithm}. `));
    return made;
  });
  const tables = [
    twin("This picture as a table", ofEach((view, at) => memoryTable(view, shown(at).state, ui.mode === "numbers"))),
    twin("What every rank received", ofEach((view, at) => logTable(view, shown(at).state))),
    twin("What every link carried, and who was idle", ofEach(loadTables)),
  ];
  const parts = frame(does, { live: talk.live, bar: bar.node, figures: figures.node, details: tables.map(({ node }) => node) });

  // With reduced motion, cells jump from step to step and nothing is ever in flight.
  const position = () => (calm() && ui.clock.playing ? Math.floor(ui.clock.position) : ui.clock.position);
  const own = () => talk.state.clock.at(position()); // each schedule's own position
  const address = () => encode({ ...talk.state.spec, step: ui.clock.target, view: ui.mode, load: ui.load ? "on" : null }, index);

  function onView(step) {
    ui.clock = start(talk.state.clock.last, step);
    const focused = parts.controls.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
    parts.controls.replaceChildren(controls({
      spec: talk.state.spec, catalogue: model.get("catalogue"), links: model.get("links"), live: talk.live,
      schedule: views()[0].schedule, own: talk.base.recorded ? "as recorded" : !talk.base.collective && "as given",
    }, {
      onSchedule: (spec) => talk.switchTo(spec, ui.clock.target),
      onPrice: (change) => talk.reprice(change, ui.clock.target),
      onOwn: () => talk.switchTo(talk.base, ui.clock.target),
    }));
    if (focused) parts.controls.querySelector(`[aria-label="${focused}"]`)?.focus();
    redraw();
    share();
  }

  // A time view's pointer speaks of its own schedule's steps; the clock may have others.
  const pointed = (i) => ({
    hold: (at) => { ui.clock = seek(ui.clock, talk.state.clock.from(i, at)); draw(); },
    drop: (at) => does.seek(Math.round(talk.state.clock.from(i, at))),
  });

  // Everything that depends on the width or the schedules.
  function redraw() {
    if (!views().length) return;
    const body = parts.stage.clientWidth;
    const wide = body >= WIDE;
    const two = views().length > 1;
    parts.root.classList.toggle("bim-wide", wide);
    parts.root.classList.toggle("bim-two", two);
    const end = Math.max(...views().flatMap(({ line, real }) => [line.seconds, real?.seconds ?? 0]));
    ui.tracks = views().map((view, i) =>
      track(view, { ...does, ...pointed(i) }, { end, tall: body * 0.8, name: two && view.schedule.algorithm }));
    parts.stage.replaceChildren(...ui.tracks.flatMap(({ nodes }) => nodes.slice(0, 2)), ...ui.tracks.flatMap(({ nodes }) => nodes.slice(2)));
    ui.tracks.forEach((one) => one.redraw(wide && !two));
    draw();
  }

  function draw() {
    if (!views().length) return;
    const at = own();
    const seconds = talk.state.clock.seconds(position());
    const changed = ui.tracks.map((one, i) => one.show(at[i], ui)).some(Boolean);
    figures.show(views(), at, seconds);
    bar.show(ui.clock, shown(position()).step, said().lead);
    if (!changed) return;
    const { lead, text, end } = said();
    parts.lead.textContent = `${lead}.`;
    parts.text.textContent = text;
    parts.end.textContent = end;
    parts.end.classList.toggle("bim-wrong-text", views().some(({ faults }) => faults.length > 0));
    tables.forEach(({ refresh }) => refresh());
  }

  // The words of what is on show; the verdict only once all is at rest.
  function said() {
    const found = words(views(), own(), talk.state.clock.seconds(position()));
    return Number.isInteger(position()) ? found : { ...found, end: "" };
  }

  function speak(force) {
    const { lead, text: deed, end } = said();
    const text = `${lead}: ${deed} ${end}`;
    if (text === ui.said || (!force && ui.silent < SPEAK_MS)) return;
    Object.assign(ui, { said: text, silent: 0 });
    parts.live.textContent = text;
  }

  // The step as the kernel's trait, once nothing moves any more.
  function share() {
    if (!talk.live || model.get("step") === ui.clock.target) return;
    model.set("step", ui.clock.target);
    model.save_changes();
  }

  function settle(clock) {
    ui.clock = clock;
    draw();
    if (!moving(clock)) speak(true), share();
    else if (!ui.frame && el.dataset.clock !== "manual") ui.frame = requestAnimationFrame((now) => loop(now, now));
  }

  function advance(ms) {
    ui.clock = tick(ui.clock, ms, ui.speed);
    ui.silent += ms;
    draw();
    speak(!moving(ui.clock));
    if (!moving(ui.clock)) share();
  }

  function loop(now, before) {
    advance(Math.min(100, now - before));
    ui.frame = moving(ui.clock) ? requestAnimationFrame((next) => loop(next, now)) : 0;
  }

  function open(linked) {
    Object.assign(ui, { mode: linked.mode, load: linked.load ?? false });
    talk.ask(linked.spec, () => linked.step, linked.step);
  }
  const onHash = () => { const linked = talk.linked(location.hash, index); if (linked) open(linked); };
  const onStep = () => { if (model.get("step") !== ui.clock.target) does.seek(model.get("step")); };

  el.append(parts.root);
  parts.root.player = { tick: advance, position }; // tests drive time
  listen(parts.root, does);
  let width = 0;
  const watcher = new ResizeObserver(() => { if (width !== parts.stage.clientWidth) { width = parts.stage.clientWidth; redraw(); } });
  watcher.observe(parts.stage);
  window.addEventListener("hashchange", onHash);
  model.on("change:step", onStep);
  const first = model.get("step") ?? talk.base.step ?? 0;
  open(talk.linked(location.hash, index) ?? { spec: talk.base, step: first, mode: "slots" });
  return () => {
    cancelAnimationFrame(ui.frame);
    watcher.disconnect();
    window.removeEventListener("hashchange", onHash);
    model.off("change:step", onStep);
    talk.close();
  };
}

export default { render };
