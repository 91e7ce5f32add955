// What a reader can do.
import { go, seek, toggle } from "../shared/page/motion.mjs";
import { address, calm, draw, settle } from "./show.mjs";
import { python } from "./state/link.mjs";

export function doesOf(widget) {
  const { ui } = widget;
  const to = (step) => settle(widget, seek(ui.clock, step));
  const by = (steps) => settle(widget, go(ui.clock, steps, calm()));
  const put = (name) => (value) => {
    ui[name] = value;
    draw(widget);
  };
  return {
    first: () => to(0),
    last: () => to(ui.clock.nsteps),
    back: () => by(-1),
    forward: () => by(1),
    toggle: () => settle(widget, toggle(ui.clock)),
    seek: to,
    speed: put("speed"),
    mode: put("mode"),
    load: put("load"),
    address: () => address(widget),
    python: () => python({ ...widget.talk.state.spec, step: ui.clock.target }, widget.talk.state.trace),
    enlarge: () => (document.fullscreenElement ? document.exitFullscreen() : widget.parts.root.requestFullscreen()),
  };
}
