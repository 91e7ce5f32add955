// The one move of the widget: every cell from before to after. Time comes in through tick, or from the browser's frames.
import { PLAY_MS, eased, moving, start, tick, toggle } from "../shared/page/motion.mjs";

const SPEED = PLAY_MS / 900; // it takes 900 ms

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// launch(): what shows a share of the way, see arrows.mjs; landed(): all has arrived. -> { play, tick, halt, moving }
export function mover(root, manual, launch, landed) {
  const now = { clock: start(1, 1), show: null, frame: 0 };

  function draw() {
    root.classList.toggle("bim-flying", moving(now.clock));
    now.show?.(moving(now.clock) ? eased(now.clock.position) : 1);
  }

  function halt() {
    cancelAnimationFrame(now.frame);
    Object.assign(now, { clock: start(1, 1), frame: 0 });
    draw();
    now.show = null;
  }

  function land() {
    halt();
    landed();
  }

  function advance(ms) {
    if (!moving(now.clock)) return;
    now.clock = tick(now.clock, ms, SPEED);
    if (moving(now.clock)) draw();
    else land();
  }

  function loop(time, before) {
    advance(Math.min(100, time - before));
    now.frame = moving(now.clock) ? requestAnimationFrame((next) => loop(next, time)) : 0;
  }

  function play() {
    halt();
    if (calm()) return land();
    now.show = launch();
    now.clock = toggle(start(1, 0));
    draw();
    if (!manual) now.frame = requestAnimationFrame((time) => loop(time, time));
  }

  return { play, tick: advance, halt, moving: () => moving(now.clock) };
}
