// The transport bar: native buttons, a native range, a native select. Icons are drawn, names are words.
import { h, svg } from "./dom.mjs";
import { PLAY_MS } from "./motion.mjs";
import { secondsText } from "./numbers.mjs";

const ICONS = {
  first: "M5 4h2v12H5zM16 4v12L8 10z",
  back: "M14 4v12L6 10z",
  play: "M6 3.5v13L16 10z",
  pause: "M6 4h3v12H6zM11 4h3v12h-3z",
  forward: "M6 4v12l8-6z",
  last: "M13 4h2v12h-2zM4 4v12l8-6z",
};
const SPEEDS = [
  [0.25, "¼×"],
  [0.5, "½×"],
  [1, "1×"],
  [2, "2×"],
  [4, "4×"],
];

export const icon = (name) =>
  svg("svg", { width: 20, height: 20, viewBox: "0 0 20 20", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));

export function button(name, label, onClick, classes = "") {
  return h(
    "button",
    { type: "button", class: `bim-button ${classes}`, "aria-label": label, title: label, click: onClick },
    icon(name),
  );
}

// The button that plays says what a press would do.
export function turn(play, isPlaying) {
  const label = isPlaying ? "Pause" : "Play";
  if (play.title === label) return;
  play.title = label;
  play.setAttribute("aria-label", label);
  play.replaceChildren(icon(label.toLowerCase()));
}

// change(factor)
export function speeds(change) {
  const node = h(
    "select",
    { class: "bim-speed", "aria-label": "Speed", change: () => change(SPEEDS[node.selectedIndex][0]) },
    SPEEDS.map(([factor, text]) => h("option", { value: factor, selected: factor === 1 }, text)),
  );
  return node;
}

// does: { first, back, toggle, forward, last, seek(step), speed(factor) }. -> { node, show(clock, text, last) }
export function transport(does) {
  const play = button("play", "Play", does.toggle, "bim-play");
  const range = h("input", {
    type: "range",
    class: "bim-range",
    "aria-label": "Step",
    input: () => does.seek(Number(range.value)),
  });
  const speed = speeds(does.speed);
  let whole = -1;
  const timed = (nsteps) => {
    whole = nsteps;
    SPEEDS.forEach(([factor, text], i) => {
      speed.options[i].text = `${text}, ${secondsText((nsteps * PLAY_MS) / 1000 / factor)}`;
    });
  };
  const node = h(
    "div",
    { class: "bim-transport", role: "group", "aria-label": "Transport" },
    button("first", "First step", does.first),
    button("back", "Step back", does.back),
    play,
    button("forward", "Step forward", does.forward),
    button("last", "Last step", does.last),
    range,
    speed,
  );
  const show = (clock, step, text) => {
    if (clock.nsteps !== whole) timed(clock.nsteps);
    range.max = clock.nsteps;
    range.value = step;
    range.setAttribute("aria-valuetext", text);
    range.style.setProperty("--done", `${clock.nsteps ? (100 * step) / clock.nsteps : 0}%`);
    turn(play, clock.playing);
  };
  return { node, show };
}

// Keyboard: Space plays, arrows step, Home and End jump, wherever focus is inside; what a native control needs is left to it.
const STEPS = { ArrowRight: "forward", ArrowLeft: "back", Home: "first", End: "last" };

// The action for a key on an element, or null: "toggle" | "forward" | "back" | "first" | "last"
export function actionFor(key, tag) {
  if (key === " ") return ["BUTTON", "SUMMARY", "SELECT", "TEXTAREA"].includes(tag) ? null : "toggle";
  return ["INPUT", "SELECT", "TEXTAREA"].includes(tag) ? null : (STEPS[key] ?? null);
}

function answer(event, does) {
  const { target, key } = event;
  const action = actionFor(key, target.tagName);
  if (!action || event.ctrlKey || event.metaKey || event.altKey || target.closest(".bim-scroll")) return;
  event.preventDefault();
  does[action]();
}

export function listen(root, does) {
  root.addEventListener("keydown", (event) => answer(event, does));
}

// Left and right, which move no page, also where nothing has the focus: for the first of the players whose middle is on the screen.
// -> what ends that
export function listenFar(middle, does) {
  const heard = (event) => {
    const { top, bottom } = middle.getBoundingClientRect();
    const isHere = top + bottom > 0 && top + bottom < 2 * innerHeight;
    const isFree = event.target.matches("body, main") && !event.shiftKey && !event.defaultPrevented;
    if (isHere && isFree && /^Arrow(Left|Right)$/.test(event.key)) answer(event, does);
  };
  document.addEventListener("keydown", heard);
  return () => document.removeEventListener("keydown", heard);
}
