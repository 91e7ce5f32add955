// The widget `clock`: one message under NCCL's three protocols, drawn over one time. Ties state and drawing together.
import { h } from "../shared/page/dom.mjs";
import { follow, landed, onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { nbytesText, secondsText } from "../shared/page/numbers.mjs";
import { furniture } from "./furniture.mjs";
import { firstOf, known, lanesOf, moment, readable, reading, stops, verdict } from "./lanes.mjs";
import { decode, fits } from "./link.mjs";
import { lanesPicture, winnersStrip, winnersText } from "./picture.mjs";

const PLAY_MS = 6000; // for all of the clock
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// What follows from the link and the size.
function work(widget) {
  widget.link = widget.known.find(({ slug }) => slug === widget.s.link);
  widget.lanes = lanesOf(widget.link, widget.protocols, widget.s.nbytes);
  widget.stops = stops(widget.lanes);
  widget.end = widget.stops.at(-1);
}

function readout({ lanes, s }) {
  const first = firstOf(lanes);
  return lanes.map((lane) => {
    const got = readable(lane, s.at);
    const done = got === lane.nbytes ? "all" : `of ${nbytesText(lane.nbytes)}`;
    const rank = lane === first ? ", first" : "";
    return h(
      "div",
      {},
      h("dt", {}, lane.name),
      h("dd", {}, h("strong", {}, nbytesText(got)), h("span", {}, done, rank)),
    );
  });
}

// Only what moves with the clock.
function tell(widget) {
  const { parts, s, lanes, picture, end } = widget;
  picture.show(s.at * 1e-9);
  parts.sentence.textContent = reading(lanes, s.at);
  parts.readout.replaceChildren(...readout(widget));
  parts.time.show(s.at, end, secondsText(s.at * 1e-9), widget.playing);
}

function draw(widget) {
  const { parts, lanes, link, s } = widget;
  const width = parts.stage.clientWidth;
  widget.picture = lanesPicture(lanes, width, (seconds) => widget.does.seek(moment(seconds)));
  parts.stage.replaceChildren(widget.picture.node);
  parts.link.value = s.link;
  parts.size.show(s.nbytes, `${nbytesText(s.nbytes)}, ${firstOf(lanes).name} is first`);
  parts.winners.replaceChildren(...winnersStrip(lanes, width - 16));
  parts.where.textContent = winnersText(lanes);
  parts.verdict.textContent = verdict(lanes, link);
  parts.notice.replaceChildren();
  parts.proof.refresh();
  tell(widget);
}

const say = (widget) => landed(widget, [widget.parts.verdict, widget.parts.sentence]);

function stop(widget) {
  widget.playing = false;
  cancelAnimationFrame(widget.frame);
}

function seek(widget, at) {
  stop(widget);
  widget.s = { ...widget.s, at: Math.min(widget.end, Math.max(0, at)) };
  tell(widget);
  say(widget);
}

// Another size or link: the clock goes to the end of the lane that is first then.
function take(widget, change) {
  stop(widget);
  widget.s = { ...widget.s, ...change };
  work(widget);
  widget.s.at = moment(firstOf(widget.lanes).end);
  draw(widget);
  say(widget);
}

// The clock goes evenly; where less motion is asked for, from stop to stop.
function play(widget) {
  if (widget.s.at >= widget.end) widget.s = { ...widget.s, at: 0 };
  let [now, before] = [widget.s.at, performance.now()];
  widget.playing = true;
  const frame = (time) => {
    now = Math.min(widget.end, now + (Math.min(100, Math.max(0, time - before)) / PLAY_MS) * widget.end);
    before = time;
    widget.playing = now < widget.end;
    widget.s = { ...widget.s, at: still() ? widget.stops.findLast((one) => one <= now) : Math.floor(now) };
    tell(widget);
    if (widget.playing) widget.frame = requestAnimationFrame(frame);
    else say(widget);
  };
  tell(widget);
  widget.frame = requestAnimationFrame(frame);
}

function doesOf(widget) {
  const to = (at) => seek(widget, at);
  return {
    take: (change) => take(widget, change),
    seek: to,
    forward: () => to(widget.stops.find((one) => one > widget.s.at) ?? widget.end),
    back: () => to(widget.stops.findLast((one) => one < widget.s.at) ?? 0),
    toggle: () => (widget.playing ? to(widget.s.at) : play(widget)),
  };
}

function show(widget, spec) {
  stop(widget);
  widget.s = spec;
  work(widget);
  draw(widget);
}

function render({ model, el }) {
  const widget = { model, index: placeOf(el), live: Boolean(model.get("live")), s: model.get("spec"), frame: 0 };
  widget.protocols = model.get("protocols");
  widget.known = known(model.get("links"), widget.protocols);
  widget.does = doesOf(widget);
  work(widget);
  widget.parts = furniture(widget);
  el.append(widget.parts.root);
  draw(widget);
  return follow(
    widget,
    { decode, fits: (s) => fits(widget.known, widget.protocols, s), show },
    () => stop(widget),
    onWidth(widget.parts.stage, () => draw(widget)),
  );
}

export default { render };
