// The widget `holds`: a recorded training step of several ranks, moment by moment. Ties state and drawing together.
import { listen } from "../shared/page/controls.mjs";
import { h } from "../shared/page/dom.mjs";
import { follow, landed, onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { motion } from "../shared/page/motion.mjs";
import { furniture, offer, titled } from "./furniture.mjs";
import { decode, fits } from "./link.mjs";
import { ranksPicture } from "./picture.mjs";
import { matched, momentsOf, peak, words } from "./steps.mjs";
import { stripPicture } from "./strip.mjs";

// The moment on show: where the clock is heading, or while it plays where it has been last.
function momentOf({ move }) {
  const { playing, target } = move.clock();
  return playing ? Math.floor(move.position()) : Math.round(target);
}

// The ways on show, each with its own moment.
function shown({ known, s }) {
  const first = { known, way: s.way, at: s.at, rank: s.rank };
  return s.beside ? [first, { ...first, way: s.beside, at: matched(known, s.way, s.at, s.beside) }] : [first];
}

function fill(widget, told, { title, ranks, strip }, scale) {
  const { known, does, s } = widget;
  const width = Math.max(280, ranks.clientWidth || 280);
  const back = (at) => does.seek(told.way === s.way ? at : matched(known, told.way, at, s.way));
  title.textContent = titled(known, told.way, told.at);
  ranks.replaceChildren(ranksPicture(told, width, scale, (rank) => does.take({ rank })));
  strip.replaceChildren(stripPicture(told, width, scale, back));
}

function draw(widget) {
  const { known, s, parts, move } = widget;
  s.at = momentOf(widget);
  const ways = shown(widget);
  parts.rooms[1].node.hidden = ways.length === 1;
  parts.root.classList.toggle("bim-h-two", ways.length > 1);
  const scale = Math.max(...ways.map(({ way, rank }) => peak(known, way, rank)));
  ways.forEach((told, i) => fill(widget, told, parts.rooms[i], scale));
  const [lead, text] = words(known, s);
  parts.sentence.replaceChildren(h("em", {}, lead), ` ${text}`);
  parts.bar.show(move.clock(), s.at, lead);
  parts.proof.refresh();
}

// The same moment is drawn once, however often the clock moves within it.
function moved(widget) {
  if (widget.s.at !== momentOf(widget)) draw(widget);
  else widget.parts.bar.show(widget.move.clock(), widget.s.at, words(widget.known, widget.s)[0]);
}

// The words are those of the moment that it came to.
function arrived(widget) {
  moved(widget);
  landed(widget, [widget.parts.sentence], 0);
}

function show(widget, spec) {
  const { move, known, parts } = widget;
  widget.s = { ...spec };
  move.stand(momentsOf(known, spec.way).length - 1, spec.at);
  offer(parts, known, spec);
  parts.notice.replaceChildren();
  draw(widget);
}

// Another way keeps the moment: what it does then.
function take(widget, change) {
  const { known, s } = widget;
  const next = { ...s, ...change };
  if (next.way !== s.way) next.at = matched(known, s.way, s.at, next.way);
  if (next.beside === next.way) next.beside = "";
  show(widget, next);
  arrived(widget);
}

function doesOf(widget) {
  const { move } = widget;
  return {
    take: (change) => take(widget, change),
    first: () => move.to(0),
    back: () => move.by(-1),
    toggle: () => move.toggle(),
    forward: () => move.by(1),
    last: () => move.to(move.clock().nsteps),
    seek: (to) => move.to(to),
    speed: (factor) => move.speed(factor),
  };
}

function render({ model, el }) {
  const widget = { model, index: placeOf(el), live: Boolean(model.get("live")), known: model.get("holdings") };
  widget.move = motion(
    el.dataset.clock === "manual",
    () => moved(widget),
    () => arrived(widget),
  );
  widget.does = doesOf(widget);
  widget.parts = furniture(widget);
  const { root, rooms } = widget.parts;
  el.append(root);
  root.holds = { tick: widget.move.tick }; // tests drive time
  listen(root, widget.does);
  show(widget, model.get("spec"));
  return follow(
    widget,
    { decode, fits: (s) => fits(widget.known, s), show, unfit: "was not recorded" },
    () => widget.move.stop(),
    onWidth(rooms[0].ranks, () => draw(widget)),
  );
}

export default { render };
