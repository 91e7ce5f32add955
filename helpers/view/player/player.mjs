// The step player: one schedule, three linked views. This module ties state, clock and drawing together.
import { go, moving, seek, shown, start, tick, toggle } from "./clock.mjs";
import { controls } from "./controls.mjs";
import { copy } from "./copying.mjs";
import { drawMemory, memorySizes } from "./draw-memory.mjs";
import { timeView } from "./draw-time.mjs";
import { topologyView } from "./draw-topology.mjs";
import { frame } from "./frame.mjs";
import { listen } from "./keys.mjs";
import { encode, python } from "./permalink.mjs";
import { readout } from "./readout.mjs";
import { sentence } from "./sentence.mjs";
import { session } from "./session.mjs";
import { logTable, memoryTable } from "./tables.mjs";
import { transport } from "./transport.mjs";
import { twin } from "./twin.mjs";

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
  const ui = { clock: start(0), speed: 1, mode: "slots", topology: null, time: null, drawn: "", silent: 0, said: "", frame: 0 };
  const talk = session(model, onView, (text) => parts.notice.replaceChildren(text));
  const view = () => talk.state.view;

  const does = {
    first: () => settle(seek(ui.clock, 0)),
    last: () => settle(seek(ui.clock, ui.clock.nsteps)),
    back: () => settle(go(ui.clock, -1, calm())),
    forward: () => settle(go(ui.clock, 1, calm())),
    toggle: () => settle(toggle(ui.clock)),
    seek: (step) => settle(seek(ui.clock, step)),
    speed: (factor) => { ui.speed = factor; },
    mode: (mode) => { ui.mode = mode; parts.switches.show(mode); redraw(); },
    copyLink: () => {
      history.replaceState(null, "", address());
      copy(location.href, "Link", parts.notice);
    },
    copyPython: () => copy(python({ ...talk.state.spec, step: ui.clock.target }, talk.state.trace), "Python", parts.notice),
    enlarge: () => (document.fullscreenElement ? document.exitFullscreen() : parts.root.requestFullscreen()),
  };
  const bar = transport(does);
  const figures = readout();
  const tables = [
    twin("This picture as a table", () => memoryTable(view(), shown(position()).state, ui.mode === "numbers")),
    twin("What every rank received", () => logTable(view(), shown(position()).state)),
  ];
  const parts = frame(does, { live: talk.live, bar: bar.node, figures: figures.node, details: tables.map(({ node }) => node) });

  // With reduced motion, cells jump from step to step and nothing is ever in flight.
  const position = () => (calm() && ui.clock.playing ? Math.floor(ui.clock.position) : ui.clock.position);
  const address = () => encode({ ...talk.state.spec, step: ui.clock.target, view: ui.mode }, index);

  function onView(newView, step) {
    ui.clock = start(newView.last, step);
    const focused = parts.controls.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
    parts.controls.replaceChildren(controls({
      spec: talk.state.spec, catalogue: model.get("catalogue"), links: model.get("links"),
      schedule: newView.schedule, own: !talk.base.collective, live: talk.live,
    }, {
      onSchedule: (spec) => talk.switchTo(spec, ui.clock.target),
      onPrice: (change) => talk.reprice(change, ui.clock.target),
      onOwn: () => talk.switchTo(talk.base, ui.clock.target),
    }));
    if (focused) parts.controls.querySelector(`[aria-label="${focused}"]`)?.focus();
    redraw();
    share();
  }

  // Everything that depends on the width, the schedule or the mode.
  function redraw() {
    if (!view()) return;
    const body = parts.stage.clientWidth;
    const wide = body >= WIDE;
    parts.root.classList.toggle("bim-wide", wide);
    const height = wide ? Math.max(220, memorySizes(view(), 500, false).height) : Math.min(view().places > 4 ? 300 : 230, body * 0.8);
    ui.topology = topologyView(view(), parts.topology.body.clientWidth || 280, height);
    ui.time = timeView(view(), parts.time.body.clientWidth || 320, (at) => { ui.clock = seek(ui.clock, at); draw(); }, does.seek);
    parts.topology.body.replaceChildren(ui.topology.node);
    parts.time.body.replaceChildren(ui.time.node);
    ui.drawn = "";
    draw();
  }

  function draw() {
    const at = position();
    const { step, state } = shown(at);
    ui.topology.show(at);
    ui.time.show(at);
    figures.show(view(), at);
    if (ui.drawn === `${step} ${state} ${ui.clock.playing}`) return;
    ui.drawn = `${step} ${state} ${ui.clock.playing}`;
    const room = parts.memory.body.clientWidth || 320;
    const memory = drawMemory(view(), at, room, ui.mode === "numbers");
    parts.memory.body.replaceChildren(memory);
    parts.memory.body.tabIndex = memory.getAttribute("width") > room ? 0 : -1; // what scrolls can be reached by keyboard
    const words = sentence(view(), step);
    parts.lead.textContent = `${words.lead}.`;
    parts.text.textContent = words.text;
    parts.end.textContent = step === state ? words.end : "";
    parts.end.classList.toggle("bim-wrong-text", view().faults.length > 0);
    bar.show(ui.clock, step, words.lead);
    tables.forEach(({ refresh }) => refresh());
  }

  function speak(force) {
    const { lead, text: deed, end } = sentence(view(), shown(position()).step);
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
    does.mode(linked.mode);
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
