// What stands there: the schedules on one clock, drawn and told.
import { moving, seek, shown, start, tick } from "../shared/page/motion.mjs";
import { controls } from "./panel/controls.mjs";
import { kindOf } from "./panel/rooms.mjs";
import { track } from "./panel/track.mjs";
import { words } from "./panel/words.mjs";
import { encode } from "./state/link.mjs";
import { mentioned } from "./state/offers.mjs";

const SPEAK_MS = 2000; // while playing, screen readers hear a sentence at most this often
const WIDE = 620;

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function views(widget) {
  return widget.talk.state.views;
}

// With reduced motion, cells jump from step to step and nothing is ever in flight.
export function position(widget) {
  return calm() && widget.ui.clock.playing ? Math.floor(widget.ui.clock.position) : widget.ui.clock.position;
}

export function own(widget) {
  return widget.talk.state.clock.at(position(widget));
}

export function address(widget) {
  return encode(
    {
      ...widget.talk.state.spec,
      step: widget.ui.clock.target,
      view: widget.ui.mode,
      load: widget.ui.load ? "on" : null,
    },
    widget.index,
  );
}

// The sentence of choices, with the focus where it was.
function choices(widget) {
  const { ui, talk, parts, model } = widget;
  const focused = parts.controls.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
  parts.controls.replaceChildren(
    controls(
      {
        spec: talk.state.spec,
        asked: () => talk.state.spec,
        catalogue: model.get("catalogue"),
        links: model.get("links"),
        live: talk.live,
        schedule: views(widget)[0].schedule,
        own: talk.base.recorded ? "as recorded" : !talk.base.collective && "as given",
        more: ui.more,
        first: mentioned(talk.base),
      },
      {
        onSchedule: (spec) => talk.switchTo(spec, ui.clock.target),
        onPrice: (change) => talk.reprice(change, ui.clock.target),
        onOwn: () => talk.switchTo(talk.base, ui.clock.target),
        onMore: () => {
          ui.more = !ui.more;
          choices(widget);
          parts.controls.querySelector(".bim-more").focus();
        },
      },
    ),
  );
  if (focused) parts.controls.querySelector(`[aria-label="${focused}"]`)?.focus();
}

export function onView(widget, step) {
  widget.ui.clock = start(widget.talk.state.clock.last, step);
  choices(widget);
  redraw(widget);
  share(widget);
}

// A time view's pointer speaks of its own schedule's steps; the clock may have others.
function pointed(widget, i) {
  return {
    hold: (at) => {
      widget.ui.clock = seek(widget.ui.clock, widget.talk.state.clock.from(i, at));
      draw(widget);
    },
    drop: (at) => widget.does.seek(Math.round(widget.talk.state.clock.from(i, at))),
  };
}

// Everything that depends on the width or the schedules.
export function redraw(widget) {
  const { parts, ui, does } = widget;
  if (!views(widget).length) return;
  const wide = parts.stage.clientWidth >= WIDE;
  const two = views(widget).length > 1;
  const kind = kindOf(views(widget));
  parts.root.className = `bim-player bim-widget bim-of-${kind} ${wide ? "bim-wide" : ""}`;
  const end = Math.max(...views(widget).flatMap(({ line, real }) => [line.seconds, real?.seconds ?? 0]));
  ui.tracks = views(widget).map((view, i) =>
    track(view, { ...does, ...pointed(widget, i) }, { end, name: two && view.schedule.algorithm }),
  );
  parts.stage.replaceChildren(
    ...ui.tracks.flatMap(({ nodes }) => nodes.slice(0, 2)),
    ...ui.tracks.flatMap(({ nodes }) => nodes.slice(2)),
  );
  ui.tracks.forEach((one) => one.redraw(kind, wide));
  draw(widget);
}

export function draw(widget) {
  const { talk, ui, figures, bar, parts, tables } = widget;
  if (!views(widget).length) return;
  const at = own(widget);
  const seconds = talk.state.clock.seconds(position(widget));
  const changed = ui.tracks.map((one, i) => one.show(at[i], ui)).some(Boolean);
  figures.show(views(widget), at, seconds);
  bar.show(ui.clock, shown(position(widget)).step, said(widget).lead);
  if (!changed) return;
  const { lead, text, end } = said(widget);
  parts.lead.textContent = `${lead}.`;
  parts.text.textContent = text;
  parts.end.textContent = end;
  const wrong = views(widget).some(({ faults }) => faults.length);
  parts.end.className = end && (wrong ? "bim-wrong-text" : "bim-right-text");
  tables.forEach(({ refresh }) => refresh());
}

// The words of what is on show; the verdict only once all is at rest.
export function said(widget) {
  const found = words(views(widget), own(widget), widget.talk.state.clock.seconds(position(widget)));
  return Number.isInteger(position(widget)) ? found : { ...found, end: "" };
}

function speak(widget, force) {
  const { ui, parts } = widget;
  const { lead, text: deed, end } = said(widget);
  const text = `${lead}: ${deed} ${end}`;
  if (text === ui.said || (!force && ui.silent < SPEAK_MS)) return;
  Object.assign(ui, { said: text, silent: 0 });
  parts.live.textContent = text;
}

// The step as the kernel's trait, once nothing moves any more.
function share(widget) {
  const { talk, model, ui } = widget;
  if (!talk.live || model.get("step") === ui.clock.target) return;
  model.set("step", ui.clock.target);
  model.save_changes();
}

export function settle(widget, clock) {
  const { ui, el } = widget;
  ui.clock = clock;
  draw(widget);
  if (!moving(clock)) {
    speak(widget, true);
    share(widget);
  } else if (!ui.frame && el.dataset.clock !== "manual")
    ui.frame = requestAnimationFrame((now) => loop(widget, now, now));
}

export function advance(widget, ms) {
  widget.ui.clock = tick(widget.ui.clock, ms, widget.ui.speed);
  widget.ui.silent += ms;
  draw(widget);
  speak(widget, !moving(widget.ui.clock));
  if (!moving(widget.ui.clock)) share(widget);
}

function loop(widget, now, before) {
  advance(widget, Math.min(100, now - before));
  widget.ui.frame = moving(widget.ui.clock) ? requestAnimationFrame((next) => loop(widget, next, now)) : 0;
}
