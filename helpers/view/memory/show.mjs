// What the widget shows: another trace, another moment, the picture, the list and the numbers.
import { h } from "../shared/page/dom.mjs";
import { SECONDS } from "../shared/page/numbers.mjs";
import { table } from "../shared/page/tools.mjs";
import { layerText } from "./draw/bars.mjs";
import { draw } from "./draw/easel.mjs";
import { around, isWhole, placed } from "./draw/window.mjs";
import { counted } from "./panel/allocator.mjs";
import { controlsOf, fill, keysOf } from "./panel/choices.mjs";
import { unlight } from "./panel/lighting.mjs";
import { listing } from "./panel/list.mjs";
import { besides, rankTable } from "./panel/others.mjs";
import { dress, momentRows, NOUNS, sentence } from "./panel/telling.mjs";
import { prepared, rivalOf, views, wholeOf } from "./scope.mjs";
import { amount, sizeOf, thousands } from "./trace/amounts.mjs";
import { byLayer } from "./trace/parts.mjs";

const LISTED_EVERY = 250; // milliseconds between two lists while events arrive

// Another trace is on show, or another of its ranks.
export function take(widget) {
  const { move, ui, parts, feed } = widget;
  move.halt();
  unlight(widget);
  const { asked } = ui;
  ui.limit = asked.limit ?? ui.limit;
  if (asked.rank !== undefined) ui.rank = Math.min(asked.rank, ui.traces.length - 1);
  ui.view = null;
  prepared(ui);
  ui.part = Math.min(asked.part ?? ui.part, ui.phases.length);
  if (asked.axis) ui.axisMode = asked.axis;
  if (asked.colour) ui.colour = asked.colour;
  if (asked.to > asked.from) see(ui, placed(asked.from, asked.to - asked.from, wholeOf(ui)));
  rescale(widget);
  ui.at = Math.min(Math.max(asked.at ?? (ui.following ? ui.t.n - 1 : ui.t.peak), 0), Math.max(0, ui.t.n - 1));
  ui.asked = {};
  ui.title = ui.opened || ui.set.title || ui.t.about.label || ui.set.label || "Memory over time";
  parts.title.textContent = ui.title;
  dress(parts.badge, ui, Boolean(feed));
  offer(widget);
  parts.holders.hidden = !ui.unclassed;
  parts.root.classList.toggle("bim-mt-lined", ui.unclassed);
  parts.barPanel.hidden = !ui.layered;
  parts.back.hidden = !ui.opened;
  parts.handed.hidden = !(ui.opened && ui.unclassed);
  all(widget, false);
}

// The choices, anew; what had the focus keeps it.
export function offer({ ui, parts, does }) {
  const { activeElement: focused } = document;
  const label = parts.controls.contains(focused) && (focused.ariaLabel ?? "");
  parts.controls.replaceChildren(...controlsOf(ui, does));
  parts.controls.hidden = !parts.controls.childNodes.length;
  if (label !== false) parts.controls.querySelector(label ? `[aria-label="${label}"]` : ".bim-more")?.focus();
}

export function rescale(widget) {
  return prepared(widget.ui, true);
}

// range: the events on show, [from, to).
function see(ui, range) {
  ui.view = isWhole(range, wholeOf(ui)) ? null : range;
}

export function look(widget, range) {
  see(widget.ui, range);
  rescale(widget);
  later(widget);
}

export function stand(widget, i, aloud) {
  const { move, ui } = widget;
  if (aloud) {
    move.halt();
    move.touched();
    ui.following = false;
  }
  if (ui.view) {
    ui.view = around(ui.view, wholeOf(ui), i);
    rescale(widget);
  }
  ui.at = Math.min(Math.max(i, ui.axis.from), Math.max(ui.axis.from, ui.axis.to - 1));
  if (aloud) all(widget, true);
  else later(widget);
}

// Everything now; or the picture at the next frame, once.
export function all(widget, aloud) {
  const { parts, move } = widget;
  paintAll(widget);
  list(widget);
  if (aloud) parts.said.textContent = move.playing() ? "" : parts.sentence.textContent;
}

export function later(widget) {
  widget.drawn ||= requestAnimationFrame(() => {
    widget.drawn = 0;
    paintAll(widget);
  });
}

function paintAll(widget) {
  const { feed, ui, parts, bar, move } = widget;
  widget.frames += 1;
  if (feed) catchUp(widget);
  const { t, at, unit } = ui;
  const words = sentence(t, at, ui);
  parts.root.classList.toggle("bim-mt-pair", ui.pair);
  draw(parts, ui);
  const over = `ytes alive over ${ui.axis.mode === "seconds" ? "time" : "events"}, stacked by ${ui.unclassed ? "line" : "class"}.`;
  const names = ui.pair ? [ui.title, ui.rival.name] : [];
  parts.pictures.forEach(({ canvas, name }, p) => {
    name.textContent = names[p] ?? "";
    canvas.setAttribute("aria-label", `${names[p] ? `${names[p]}: b` : "B"}${over} ${p ? "" : words}`);
  });
  parts.sentence.textContent = words;
  parts.holders.replaceChildren(...ui.held.map((line) => h("p", {}, line)));
  parts.allocator.textContent = counted(t, unit);
  parts.allocator.hidden = !parts.allocator.textContent;
  parts.keys.replaceChildren(...keysOf(ui, views(ui), names));
  if (ui.layered) parts.barText.textContent = layerText("", byLayer(t, at, ui.rows).get(""), unit);
  const all = besides(ui);
  if (all.length > 1) parts.ranks.replaceChildren(rankTable(all, ui.axis, ui.axis.place(at), unit, !ui.rival));
  parts.ranks.hidden = all.length < 2;
  parts.bars.setAttribute(
    "aria-label",
    `Bytes by layer, stacked by class, after event ${thousands(`${at + 1}`)}; the same as a table under The numbers`,
  );
  bar.show(ui.axis, at, {
    playing: move.playing(),
    text: words,
    canFollow: Boolean(feed) && !ui.following && !feed.over,
    isNear: Boolean(ui.view),
  });
  if (move.playing() || (feed && performance.now() - widget.listed < LISTED_EVERY)) return;
  if (feed) list(widget);
}

function catchUp(widget) {
  const { ui, feed } = widget;
  if (ui.opened || ui.set.ranks) return;
  ui.traces = feed.traces.length ? feed.traces : ui.traces;
  prepared(ui);
  if (ui.following) ui.at = Math.max(0, ui.t.n - 1);
  if (widget.offered === ui.traces.length || !ui.t.n) return;
  widget.offered = ui.traces.length;
  offer(widget);
}

export function list(widget) {
  const { ui, move, parts, does, numbers } = widget;
  widget.listed = performance.now();
  if (!ui.t.n || move.playing()) return;
  fill(parts, listing(ui, ui.list), does.listMode);
  numbers.refresh();
}

export function numbersOf(widget) {
  const { ui, parts } = widget;
  const { t, unit, used } = ui;
  const held = (words) => [words, [[sizeOf(unit), ""]], (nbytes) => amount(nbytes, unit)];
  const timed = t.timed ? [["Time", SECONDS]] : [];
  const head = ["Moment", "Event", ...timed, ...used.map((cls) => held(NOUNS[cls])), held("In all")];
  const found = [
    table(`${parts.title.textContent}: ${parts.badge.textContent}, in ${unit}`, head, momentRows(t, used)),
  ];
  if (ui.layered)
    found.push(
      table(
        `By layer after event ${thousands(`${ui.at + 1}`)}`,
        ["Layer", "What it holds"],
        [...byLayer(t, ui.at, ui.rows)].map(([name, bytes]) => [name || "outside", layerText(name, bytes, unit)]),
      ),
    );
  return found;
}

export function load(widget) {
  const { model, parts, ui } = widget;
  const set = model.get("trace");
  if (set?.error) parts.notice.textContent = set.error;
  if (!set?.ranks) {
    ui.rival = rivalOf(set ?? {});
    return take(widget);
  }
  ui.take(set);
  ui.following = false;
  take(widget);
}

export function hear(widget, message) {
  const { feed, ui } = widget;
  if (!feed.hear(message)) return;
  if (feed.over) ui.following = false;
  later(widget);
}
