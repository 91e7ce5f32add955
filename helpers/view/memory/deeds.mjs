// What a reader can do.
import { filing, ofFile } from "./files.mjs";
import { encode, python } from "./link.mjs";
import { zoomed } from "./draw/window.mjs";
import { prepared, wholeOf } from "./scope.mjs";
import { all, later, list, load, look, offer, rescale, stand, take } from "./show.mjs";
import { printOf } from "./trace/opening.mjs";

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
      const [from, to] = wholeOf(widget.ui);
      if (widget.ui.t.peak < from || widget.ui.t.peak >= to) Object.assign(widget.ui, { part: 0, view: null });
      rescale(widget);
      stand(widget, widget.ui.t.peak, true);
    },
    follow() {
      widget.ui.following = true;
      later(widget);
    },
  };
}

// How near, about where the reader stands.
function nearing(widget) {
  const by = (factor) => () => {
    const { ui } = widget;
    const { from, to } = ui.axis;
    const share = (Math.min(Math.max(ui.at, from), to) - from) / Math.max(1, to - from);
    look(widget, zoomed([from, to], wholeOf(ui), factor, share));
  };
  return { nearer: by(0.5), farther: by(2), everything: () => look(widget, wholeOf(widget.ui)) };
}

// What is compared, within which limit, in which colours.
function asking(widget) {
  const anew = () => {
    prepared(widget.ui);
    all(widget, true);
  };
  return {
    more_choices() {
      widget.ui.more = !widget.ui.more;
      offer(widget);
    },
    against(name) {
      const { ui, does } = widget;
      if (!ui.opened && ui.names.includes(name)) return does.show(ui.show, name);
      ui.rival = name ? { name, traces: ui.files.get(name) } : null;
      if (!name && !ui.opened && ui.set.against) return does.show(ui.show);
      anew();
    },
    limit(nbytes) {
      widget.ui.limit = nbytes;
      anew();
    },
    colour(by) {
      widget.ui.colour = by;
      anew();
    },
  };
}

// What is on show, and how it is listed.
function choosing(widget) {
  return {
    show(name, against = "") {
      Object.assign(widget.ui, { show: name, asked: {} });
      widget.model.set("spec", { ...widget.base, show: name, at: null, ...(against && { against }) });
      widget.model.save_changes();
    },
    rank(r) {
      Object.assign(widget.ui, { rank: r, view: null });
      take(widget);
    },
    part(p) {
      Object.assign(widget.ui, { part: p, view: null });
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

// What a link says; a file of the reader's own is in none.
function stateOf({ ui, base }) {
  const { axis, rank, part, at, view, colour, limit, given, rival, names, opened, files } = ui;
  const [from, to] = view ?? [null, null];
  return {
    own: opened ? printOf(files.get(opened)) : null,
    show: base.names?.length > 1 && !opened ? ui.show : null,
    axis: axis.mode,
    against: names.includes(rival?.name) ? rival.name : null,
    colour: colour === "class" ? null : colour,
    rank,
    part,
    at,
    from,
    to,
    limit: limit === given ? null : limit,
  };
}

// What goes out of the page, and what comes in.
function bringing(widget) {
  return {
    address: () => encode(stateOf(widget), widget.index),
    python: () =>
      python({
        ...ofFile(widget.ui),
        axis: widget.ui.axis.mode,
        at: widget.ui.at,
        limit: widget.ui.limit,
      }),
    back_to() {
      Object.assign(widget.ui, { opened: "", asked: {}, rival: null, limit: widget.ui.given });
      load(widget);
    },
  };
}

export function doesOf(widget) {
  return {
    ...standing(widget),
    ...nearing(widget),
    ...asking(widget),
    ...choosing(widget),
    ...bringing(widget),
    ...filing(widget, () => stateOf(widget)),
  };
}
