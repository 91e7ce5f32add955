// The transport bar: native buttons, a native range over the events on show, a native select for the speed.
import { button, speeds, turn } from "../../shared/page/controls.mjs";
import { h, svg } from "../../shared/page/dom.mjs";
import { tool } from "../../shared/page/tools.mjs";

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
  const play = button("play", "Play", does.toggle, "bim-play");
  const range = h("input", {
    type: "range",
    class: "bim-range",
    "aria-label": "Event",
    input: () => does.seek(Number(range.value)),
  });
  const speed = speeds(does.speed);
  const flat = (words, click, more) => tool(words, click, { class: "bim-tool bim-mt-to-peak", ...more });
  const [toPeak, follow] = [flat("To the peak", does.peak), flat("Follow", does.follow, { hidden: true })];
  const [nearer, farther] = [sign("nearer", "Nearer", does.nearer), sign("farther", "Farther", does.farther)];
  const whole = flat("All", does.everything);
  const node = h(
    "div",
    { class: "bim-transport", role: "group", "aria-label": "Transport" },
    button("first", "First event", does.first),
    button("back", "Event back", does.back),
    play,
    button("forward", "Event forward", does.forward),
    button("last", "Last event", does.last),
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
    turn(play, playing);
  }
  return { node, show };
}
