// What stands there: the segments at an event, drawn and told.
import { h } from "../shared/page/dom.mjs";
import { SIZES } from "../shared/page/numbers.mjs";
import { table } from "../shared/page/tools.mjs";
import { curves } from "./curves.mjs";
import { column, controls, figures } from "./parts.mjs";
import { cells, classesAt, stateAt } from "./replay.mjs";
import { scales, strips } from "./strips.mjs";
import { telling } from "./telling.mjs";

const WIDE = 760; // from here on two ways stand beside each other

export function views(widget) {
  return widget.spec.views.filter(
    (view) => widget.ui.mode === "both" || view.expandable === (widget.ui.mode === "expandable"),
  );
}

export function step(widget) {
  return Math.floor(widget.move.position());
}

export function build(widget) {
  const { top, spec, ui, ways } = widget;
  const shown = views(widget);
  top.replaceChildren(controls(spec, ui.mode, widget.choose));
  ui.columns = shown.map((view) => ({ view, ...column(view, shown.length > 1) }));
  ways.replaceChildren(...ui.columns.map(({ node }) => node));
  measure(widget);
}

// Pictures are as wide as their columns: drawn again when that changes.
export function measure(widget) {
  const { ways, ui, spec, move } = widget;
  ways.classList.toggle("bim-beside-ways", ui.columns.length > 1 && ways.clientWidth >= WIDE);
  const most = Math.max(...ui.columns.map(({ view }) => view.peaks[1]));
  const common = scales(
    ui.columns.map(({ view }) => view),
    Math.max(240, ui.columns[0].picture.clientWidth),
  );
  for (const one of ui.columns) {
    one.view.scales = common;
    one.width = Math.max(240, Math.floor(one.picture.clientWidth || 320));
    one.curve = curves(one.view, spec, most, one.width, (to) => move.to(to));
    one.chart.replaceChildren(one.curve.node);
  }
  ui.drawn = -1;
  draw(widget);
}

export function draw(widget) {
  const { bar, move, spec, ui, sentence, blocks } = widget;
  const now = step(widget);
  bar.show(move.clock(), now, `Event ${now} of ${spec.events.length}`);
  if (now === ui.drawn) return;
  ui.drawn = now;
  const classes = classesAt(spec.events, now);
  for (const { view, picture, figures: list, curve, width } of ui.columns) {
    const at = Math.min(now, view.ended ?? now);
    picture.replaceChildren(...strips(view, spec, at, classes, width));
    curve.show(now);
    list.replaceChildren(
      ...figures(
        view.curve[at],
        stateAt(view, at).flatMap((own) =>
          cells(own)
            .filter(({ block }) => block < 0)
            .map(({ size }) => size),
        ),
      ),
    );
  }
  const words = telling(spec, views(widget), now);
  sentence.replaceChildren(h("em", {}, `${words.lead}. `), words.texts.join(" "));
  blocks.refresh();
}

export function landed(widget) {
  const { spec, said } = widget;
  const { lead, texts } = telling(spec, views(widget), step(widget));
  said.textContent = `${lead}. ${texts.join(" ")}`;
  share(widget);
}

function share(widget) {
  const { live, model, given, ui } = widget;
  if (!live) return;
  model.set("spec", { ...given, mode: ui.mode, step: step(widget) });
  model.save_changes();
}

export function choose(widget, mode) {
  const { ui, top } = widget;
  ui.mode = mode;
  build(widget);
  top.querySelector("select").focus({ preventScroll: true });
  landed(widget);
}

export function tables(widget) {
  const now = step(widget);
  const classes = classesAt(widget.spec.events, now);
  return views(widget).map((view) =>
    table(
      view.expandable ? "Expandable segments" : "Segments of fixed size",
      ["Segment", ["Offset", SIZES], ["Size", SIZES], "Block"],
      stateAt(view, Math.min(now, view.ended ?? now)).flatMap((own, number) =>
        cells(own).map(({ offset, size, block }) => [
          `${view.segments[number][0]} ${number}`,
          offset,
          size,
          block < 0
            ? "free"
            : `${widget.spec.texts[widget.spec.names.get(block)]} (${widget.spec.classes[classes.get(block)]})`,
        ]),
      ),
    ),
  );
}
