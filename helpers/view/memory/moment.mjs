// Where the reader stands in a trace, and how that moves. Time comes in through tick, or from the browser's frames.
const WHOLE_MS = 12_000; // all that is on show, at speed 1

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// get(): { axis, at }; move(event): go there. -> { play, halt, tick, speed, playing }
export function mover(get, move, changed, manual) {
  const now = { playing: false, share: 0, speed: 1, frame: 0, last: 0, fresh: true };

  function halt() {
    cancelAnimationFrame(now.frame);
    if (!now.playing) return;
    now.playing = false;
    changed();
  }

  function tick(ms) {
    if (!now.playing) return;
    const { axis, at } = get();
    now.share = Math.min(1, now.share + (ms / WHOLE_MS) * now.speed);
    const next = axis.indexAt(now.share);
    if (next !== at) move(next);
    if (now.share >= 1) halt();
  }

  function frame(time) {
    tick(now.last ? Math.min(100, time - now.last) : 0);
    now.last = time;
    if (now.playing && !manual) now.frame = requestAnimationFrame(frame);
  }

  // From here; from the start where nothing was chosen yet, or at the end. Less motion: straight to the end.
  function play() {
    const { axis, at } = get();
    if (now.playing) return halt();
    if (calm()) return move(axis.to - 1);
    now.share = now.fresh || at >= axis.to - 1 ? 0 : Math.max(0, axis.place(at));
    now.playing = true;
    now.last = 0;
    changed();
    if (!manual) now.frame = requestAnimationFrame(frame);
  }

  return {
    play,
    halt,
    tick,
    speed: (factor) => {
      now.speed = factor;
    },
    touched: () => {
      now.fresh = false;
    },
    playing: () => now.playing,
  };
}
