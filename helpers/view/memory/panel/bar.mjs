// The transport bar: native buttons, a native range over the events on show, a native select for the speed.
import { icon } from "../../shared/page/controls.mjs";
import { h, svg } from "../../shared/page/dom.mjs";

const RATES = [
  [0.25, "¼×"],
  [0.5, "½×"],
  [1, "1×"],
  [2, "2×"],
  [4, "4×"],
];

const press = (name, label, click, classes = "") =>
  h("button", { type: "button", class: `bim-button ${classes}`, "aria-label": label, title: label, click }, icon(name));

const SIGNS = { farther: "M4 9h12v2H4z", nearer: "M4 9h5V4h2v5h5v2h-5v5H9v-5H4z" };

const sign = (name, label, click) =>
  h(
    "button",
    { type: "button", class: "bim-button", "aria-label": label, title: label, click },
    svg("svg", { width: 20, height: 20, viewBox: "0 0 20 20", "aria-hidden": "true" }, svg("path", { d: SIGNS[name] })),
  );

// does: { first, back, toggle, forward, last, seek(event), speed(factor), peak, nearer, farther,
// everything }. -> { node, show({ from, to }, at, playing, text) }
export function transportBar(does) {
  const play = press("play", "Play", does.toggle, "bim-play");
  const range = h("input", {
    type: "range",
    class: "bim-range",
    step: 1,
    "aria-label": "Event",
    input: () => does.seek(Number(range.value)),
  });
  const speed = h(
    "select",
    { class: "bim-speed", "aria-label": "Speed", change: () => does.speed(RATES[speed.selectedIndex][0]) },
    RATES.map(([factor, text]) => h("option", { value: factor, selected: factor === 1 }, text)),
  );
  const toPeak = h("button", { type: "button", class: "bim-tool bim-mt-to-peak", click: does.peak }, "To the peak");
  const follow = h(
    "button",
    { type: "button", class: "bim-tool bim-mt-to-peak", hidden: true, click: does.follow },
    "Follow",
  );
  const [nearer, farther] = [sign("nearer", "Nearer", does.nearer), sign("farther", "Farther", does.farther)];
  const whole = h("button", { type: "button", class: "bim-tool bim-mt-to-peak", click: does.everything }, "All");
  const node = h(
    "div",
    { class: "bim-transport", role: "group", "aria-label": "Transport" },
    press("first", "First event", does.first),
    press("back", "Event back", does.back),
    play,
    press("forward", "Event forward", does.forward),
    press("last", "Last event", does.last),
    range,
    speed,
    toPeak,
    follow,
    h("span", { class: "bim-mt-zoom" }, farther, nearer, whole),
  );
  function show({ from, to }, at, { playing, text, canFollow, isNear }) {
    farther.disabled = whole.disabled = !isNear;
    range.min = from;
    range.max = Math.max(from, to - 1);
    range.value = at;
    range.setAttribute("aria-valuetext", text);
    range.style.setProperty("--done", `${to - 1 > from ? (100 * (at - from)) / (to - 1 - from) : 0}%`);
    follow.hidden = !canFollow;
    const label = playing ? "Pause" : "Play";
    if (play.title === label) return;
    play.title = label;
    play.setAttribute("aria-label", label);
    play.replaceChildren(icon(playing ? "pause" : "play"));
  }
  return { node, show };
}
