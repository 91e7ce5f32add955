// What a reader can do.
import { copy, share } from "../shared/page/link.mjs";
import { go, seek, toggle } from "../shared/page/motion.mjs";
import { address, calm, draw, settle } from "./show.mjs";
import { python } from "./state/link.mjs";

export function doesOf(widget) {
  return {
    first: () => settle(widget, seek(widget.ui.clock, 0)),
    last: () => settle(widget, seek(widget.ui.clock, widget.ui.clock.nsteps)),
    back: () => settle(widget, go(widget.ui.clock, -1, calm())),
    forward: () => settle(widget, go(widget.ui.clock, 1, calm())),
    toggle: () => settle(widget, toggle(widget.ui.clock)),
    seek: (step) => settle(widget, seek(widget.ui.clock, step)),
    speed: (factor) => {
      widget.ui.speed = factor;
    },
    mode: (mode) => {
      widget.ui.mode = mode;
      draw(widget);
    },
    load: (load) => {
      widget.ui.load = load;
      draw(widget);
    },
    copyLink: () => {
      share(address(widget), widget.parts.notice);
    },
    copyPython: () =>
      copy(
        python({ ...widget.talk.state.spec, step: widget.ui.clock.target }, widget.talk.state.trace),
        "Python",
        widget.parts.notice,
      ),
    enlarge: () => (document.fullscreenElement ? document.exitFullscreen() : widget.parts.root.requestFullscreen()),
  };
}
