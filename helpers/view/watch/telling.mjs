// A call on ranks in words.
const PHASES = { starting: "Starting", running: "Running", done: "Done", failed: "Failed", stopped: "Stopped" };

const secondsOf = (seconds) => `${seconds.toFixed(1)} s`;

// -> { phase, title: "Running for 3.2 s: 4 ranks, gloo, CPU", note: what the start has cost }
export function heading({ phase, label, seconds, startup, calls }) {
  const word = PHASES[phase];
  const time =
    seconds === null
      ? ""
      : phase === "running" || phase === "starting"
        ? ` for ${secondsOf(seconds)}`
        : ` after ${secondsOf(seconds)}`;
  const note =
    startup === null
      ? ""
      : `The ranks met in ${startup.toFixed(2)} s, paid once for ${calls} call${calls === 1 ? "" : "s"}.`;
  return { phase: word, title: `${word}${time}: ${label}`, note };
}

// What a rank has counted: "3 of 10", "3 so far", nothing.
export function steps(done, total) {
  if (total) return `${done} of ${total}`;
  return done ? `${done} so far` : "";
}
