// The transport bar: native buttons, a native range over the events on show, a native select for the speed.
import { icon } from "../../shared/page/controls.mjs";
import { h } from "../../shared/page/dom.mjs";

const RATES = [
  [0.25, "¼×"],
  [0.5, "½×"],
  [1, "1×"],
  [2, "2×"],
  [4, "4×"],
];

const press = (name, label, click, classes = "") =>
  h("button", { type: "button", class: `bim-button ${classes}`, "aria-label": label, title: label, click }, icon(name));

// does: { first, back, toggle, forward, last, seek(event), speed(factor), peak }. -> { node, show({ from, to }, at, playing, text) }
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
  );
  function show({ from, to }, at, playing, text, canFollow) {
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
