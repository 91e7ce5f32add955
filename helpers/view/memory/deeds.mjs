// What a reader can do.
import { h } from "../shared/page/dom.mjs";
import { encode, python } from "./link.mjs";
import { zoomed } from "./draw/window.mjs";
import { prepared, wholeOf } from "./scope.mjs";
import { all, later, list, load, look, offer, rescale, stand, take } from "./show.mjs";
import { download, pageOf } from "./panel/handed.mjs";
import { labelOf, printOf, tracesIn, worthOpening } from "./trace/opening.mjs";

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

// Keeps the traces of each file under a name of its own, and tells of those that are none. -> the names, and the state that was saved
async function read({ ui, parts }, files) {
  const [names, refused, chosen] = [[], [], worthOpening(files)];
  if (!chosen.length) refused.push("No .pickle is in this folder.");
  let asked = {};
  for (const file of chosen) {
    try {
      const { found, state } = await tracesIn(file);
      asked = state ?? asked;
      for (const one of found) {
        const name = labelOf(one.file, ui.files, chosen);
        ui.files.set(name, one.traces);
        names.push(name);
      }
    } catch ({ message }) {
      refused.push(`${file.name} cannot be opened: ${message}`);
    }
  }
  parts.refused.replaceChildren(...refused.map((words) => h("span", {}, words)));
  if (refused.length) parts.refused.scrollIntoView({ block: "nearest" });
  return { names, asked };
}

const EXPECTED =
  "This link is about somebody's own snapshot, which no link carries. Open that file here: it stands as it did for who made the link.";

// A reader's own file is on show, beside another or alone.
function own(widget, name, other, saved = {}) {
  const { ui } = widget;
  const isWanted = ui.wanted?.own === printOf(ui.files.get(name));
  const asked = isWanted ? ui.wanted : saved;
  const rival = other && other !== name ? { name: other, traces: ui.files.get(other) } : null;
  const fresh = { rank: 0, part: 0, view: null, asked, limit: ui.given };
  Object.assign(ui, { traces: ui.files.get(name), opened: name, rival, ...fresh });
  take(widget);
}

// What goes out of the page, and what comes in.
function ofFile({ opened, unclassed, traces, rank, show }) {
  if (!opened || !unclassed) return { show: opened ? null : show, rank };
  return { file: opened.replace(/ \(\d+\)$/, ""), gpu: traces[rank][0] };
}

function bringing(widget) {
  return {
    // Two files stand beside each other, as does a second one beside that which is open.
    async open(files) {
      const { ui, parts } = widget;
      const { names, asked } = await read(widget, files);
      if (!names.length) return;
      const isWhole = names.length > 1 || asked.at !== undefined; // else it stands beside what is open
      const [name, other] = isWhole ? names : [ui.opened, names[0]].filter(Boolean);
      parts.notice.textContent = "";
      own(widget, name, other, asked);
      parts.said.textContent = ui.held.join(" ");
    },
    // A link is about a file that is not in it.
    expect(wanted) {
      const { ui, parts } = widget;
      ui.wanted = wanted;
      if (ui.opened) own(widget, ui.opened, ui.rival?.name);
      else parts.refused.textContent = EXPECTED;
    },
    save(isNameless) {
      const [name] = isNameless ? ["memory"] : widget.ui.opened.split("/").slice(-1);
      download(pageOf(widget, stateOf(widget), isNameless), `${name}.html`);
      widget.parts.notice.textContent =
        "Saved: a page that any browser shows, and that is opened here again by dropping it.";
    },
    own: (name) => own(widget, name, widget.ui.rival?.name),
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
  return { ...standing(widget), ...nearing(widget), ...asking(widget), ...choosing(widget), ...bringing(widget) };
}
