// What a reader can do.
import { copy, share } from "../shared/page/link.mjs";
import { encode, python } from "./link.mjs";
import { all, later, list, load, rescale, stand, take } from "./show.mjs";
import { openSnapshot } from "./trace/snapshot.mjs";

// Where to stand.
function standing(widget) {
  return {
    toggle: () => widget.move.play(),
    first: () => stand(widget, widget.ui.axis.from, true),
    last: () => stand(widget, widget.ui.axis.to - 1, true),
    back: () => stand(widget, widget.ui.at - 1, true),
    forward: () => stand(widget, widget.ui.at + 1, true),
    seek: (i) => stand(widget, i, true),
    speed: (factor) => widget.move.speed(factor),
    peak() {
      if (widget.ui.t.peak < widget.ui.axis.from || widget.ui.t.peak >= widget.ui.axis.to) widget.ui.part = 0;
      rescale(widget);
      stand(widget, widget.ui.t.peak, true);
    },
    follow() {
      widget.ui.following = true;
      later(widget);
    },
  };
}

// What is on show, and how it is listed.
function choosing(widget) {
  return {
    show(name) {
      widget.ui.show = name;
      widget.ui.asked = {};
      widget.model.set("spec", { ...widget.base, show: name, at: null });
      widget.model.save_changes();
    },
    rank(r) {
      widget.ui.rank = r;
      take(widget);
    },
    part(p) {
      widget.ui.part = p;
      rescale(widget);
      stand(widget, p ? widget.ui.axis.from : widget.ui.t.peak, true);
    },
    axis(mode) {
      widget.ui.axisMode = mode;
      rescale(widget);
      all(widget, true);
    },
    filter(text) {
      widget.ui.list.filter = text;
      widget.ui.list.pages = 1;
      list(widget);
    },
    more() {
      widget.ui.list.pages += 1;
      list(widget);
    },
    listMode(mode) {
      widget.ui.list.mode = mode;
      widget.ui.list.pages = 1;
      list(widget);
    },
  };
}

// What goes out of the page, and what comes in.
function bringing(widget) {
  return {
    async open(file) {
      try {
        const traces = openSnapshot(new Uint8Array(await file.arrayBuffer()));
        Object.assign(widget.ui, {
          traces: traces.map((t, i) => [i, t]),
          opened: file.name,
          rank: 0,
          part: 0,
          asked: {},
        });
        widget.parts.notice.textContent = "";
        take(widget);
      } catch (error) {
        widget.parts.notice.textContent = `${file.name} cannot be opened: ${error.message}.`;
      }
    },
    copyLink() {
      share(
        encode(
          {
            show: widget.base.names?.length > 1 ? widget.ui.show : null,
            axis: widget.ui.axis.mode,
            rank: widget.ui.rank,
            part: widget.ui.part,
            at: widget.ui.at,
          },
          widget.index,
        ),
        widget.parts.notice,
      );
    },
    copyPython: () =>
      copy(
        python({
          show: widget.ui.opened ? null : widget.ui.show,
          axis: widget.ui.axis.mode,
          rank: widget.ui.rank,
          at: widget.ui.at,
          limit: widget.ui.limit,
        }),
        "Python",
        widget.parts.notice,
      ),
    back_to() {
      widget.ui.opened = "";
      widget.ui.asked = {};
      load(widget);
    },
  };
}

export function doesOf(widget) {
  return { ...standing(widget), ...choosing(widget), ...bringing(widget) };
}
