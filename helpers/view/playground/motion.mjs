// The clock with its frames: where the playground stands between steps. Time comes in through tick, or from the browser's frames.
import { go, moving, seek, start, tick, toggle } from "../player/clock.mjs";

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// draw(): something moved; landed(): all stands still again. -> what a transport needs, and where the clock is
export function motion(manual, draw, landed) {
  const now = { clock: start(0), speed: 1, frame: 0 };

  function settle(clock) {
    now.clock = clock;
    draw();
    if (!moving(clock)) landed();
    else if (!now.frame && !manual) now.frame = requestAnimationFrame((time) => loop(time, time));
  }

  function advance(ms) {
    if (!moving(now.clock)) return;
    now.clock = tick(now.clock, ms, now.speed);
    draw();
    if (!moving(now.clock)) landed();
  }

  function loop(time, before) {
    advance(Math.min(100, time - before));
    now.frame = moving(now.clock) ? requestAnimationFrame((next) => loop(next, time)) : 0;
  }

  return {
    tick: advance,
    clock: () => now.clock,
    // With reduced motion, cells jump from step to step and nothing is ever in flight.
    position: () => (still() && now.clock.playing ? Math.floor(now.clock.position) : now.clock.position),
    moving: () => moving(now.clock),
    stand: (nsteps, step) => { now.clock = start(nsteps, step); },
    hold: (position) => { now.clock = seek(now.clock, position); draw(); },
    play: (from, to) => settle(still() ? start(now.clock.nsteps, to) : { ...start(now.clock.nsteps, from), target: to }),
    by: (steps) => settle(go(now.clock, steps, still())),
    to: (step) => settle(seek(now.clock, step)),
    toggle: () => settle(toggle(now.clock)),
    speed: (factor) => { now.speed = factor; },
    stop: () => cancelAnimationFrame(now.frame),
  };
}
