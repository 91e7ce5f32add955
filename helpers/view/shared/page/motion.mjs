// Where the player stands: a position in steps, 2.5 is half way through the third. Pure; time comes in through tick.
export const STEP_MS = 450; // a step that was asked for by itself
export const PLAY_MS = 1000; // a step among others: there must be time to read it

const clamp = (step, nsteps) => Math.min(nsteps, Math.max(0, step));

export function start(nsteps, step = 0) {
  const position = clamp(step, nsteps);
  return { nsteps, position, target: position, playing: false };
}

// One step on or back from where the clock is heading; what was under way is finished at once.
export function go(clock, by, jumps = false) {
  const target = clamp(clock.target + by, clock.nsteps);
  return { ...clock, position: jumps ? target : clock.target, target, playing: false };
}

// Also in between steps, while a pointer drags.
export const seek = (clock, position) => start(clock.nsteps, position);

export function toggle(clock) {
  if (clock.playing) return { ...clock, playing: false, target: Math.ceil(clock.position) };
  const position = clock.position >= clock.nsteps ? 0 : clock.position;
  return { ...clock, position, target: clock.nsteps, playing: clock.nsteps > 0 };
}

export function tick(clock, ms, speed) {
  const by = (ms / (clock.playing ? PLAY_MS : STEP_MS)) * speed;
  const { position, target } = clock;
  const next = position < target ? Math.min(target, position + by) : Math.max(target, position - by);
  return { ...clock, position: next, playing: clock.playing && next < clock.nsteps };
}

export const moving = (clock) => clock.position !== clock.target;

// The step that is on show, and the state under it: in flight during step 3, memory is still what step 2 left.
export const shown = (position) => ({ step: Math.ceil(position), state: Math.floor(position) });

// Ease-out within a step; whole positions stay whole.
export function eased(position) {
  const whole = Math.floor(position);
  const rest = position - whole;
  return whole + 1 - (1 - rest) ** 2;
}

export const uneased = (position) => Math.floor(position) + 1 - Math.sqrt(1 - (position % 1));

// The clock with its frames: where the playground stands between steps. Time comes in through tick, or from the browser's frames.

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
    stand: (nsteps, step) => {
      now.clock = start(nsteps, step);
    },
    hold: (position) => {
      now.clock = seek(now.clock, position);
      draw();
    },
    play: (from, to) =>
      settle(still() ? start(now.clock.nsteps, to) : { ...start(now.clock.nsteps, from), target: to }),
    by: (steps) => settle(go(now.clock, steps, still())),
    to: (step) => settle(seek(now.clock, step)),
    toggle: () => settle(toggle(now.clock)),
    speed: (factor) => {
      now.speed = factor;
    },
    stop: () => cancelAnimationFrame(now.frame),
  };
}
