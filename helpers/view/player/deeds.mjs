// What a reader can do.
import { go, seek, toggle } from "../shared/page/motion.mjs";
import { address, calm, draw, settle } from "./show.mjs";
import { python } from "./state/link.mjs";

export function doesOf(widget) {
  const { ui } = widget;
  const to = (step) => settle(widget, seek(ui.clock, step));
  const by = (steps) => settle(widget, go(ui.clock, steps, calm()));
  // The bar stays on the screen where the picture may not be: who plays, sees it.
  const seen =
    (deed) =>
    (...args) => {
      widget.parts.stage.parentElement.scrollIntoView({ block: "nearest" });
      deed(...args);
    };
  const put = (name) => (value) => {
    ui[name] = value;
    draw(widget);
  };
  return {
    first: seen(() => to(0)),
    last: seen(() => to(ui.clock.nsteps)),
    back: seen(() => by(-1)),
    forward: seen(() => by(1)),
    toggle: seen(() => settle(widget, toggle(ui.clock))),
    seek: to,
    speed: put("speed"),
    mode: put("mode"),
    load: put("load"),
    address: () => address(widget),
    python: () => python({ ...widget.talk.state.spec, step: ui.clock.target }, widget.talk.state.trace),
    enlarge: () => (document.fullscreenElement ? document.exitFullscreen() : widget.parts.root.requestFullscreen()),
  };
}
