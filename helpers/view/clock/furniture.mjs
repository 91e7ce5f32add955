// What stands still: the sentence with its choices, the size with who is first where, room for the lanes, the clock's own bar, tools.
import { button, turn } from "../shared/page/controls.mjs";
import { h, legend, said, sizer } from "../shared/page/dom.mjs";
import { nbytesText, PERCENT, SECONDS } from "../shared/page/numbers.mjs";
import { table, tools, twin } from "../shared/page/tools.mjs";
import { GRAINS, told } from "./lanes.mjs";
import { encode, python } from "./link.mjs";

const NOTE =
  "A model of one message on an idle link, all channels drawn as one. NCCL deals a message out over its channels, each a ring of slots, " +
  "and pays a fence for every slice; here one latency holds that.";
const LEGEND = {
  call: "call",
  alpha: "latency",
  bytes: "bytes on their way",
  rank: "data, on the wire and as GPU B can read it",
  flag: "flags",
};

// The clock's bar: back, play, forward, and the time itself, whose arrow keys go from stop to stop.
function timer(does) {
  const play = button("play", "Play", does.toggle, "bim-play");
  const range = h("input", {
    type: "range",
    class: "bim-range",
    "aria-label": "Time",
    input: () => does.seek(+range.value),
  });
  const node = h(
    "div",
    { class: "bim-transport", role: "group", "aria-label": "Clock" },
    button("back", "Event before", does.back),
    play,
    button("forward", "Next event", does.forward),
    range,
  );
  const show = (at, end, text, playing) => {
    range.max = end;
    range.value = at;
    range.setAttribute("aria-valuetext", text);
    range.style.setProperty("--done", `${(100 * at) / end}%`);
    turn(play, playing);
  };
  return { node, range, show };
}

// Arrows go from stop to stop and Space plays wherever focus is, but for what a control or a table needs itself.
function listen(root, own, does) {
  root.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const taken = target !== own && (target.tagName === "INPUT" || target.closest("select, .bim-scroll, textarea"));
    if (taken || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      ArrowRight: "forward",
      ArrowLeft: "back",
      ...(!target.closest("button, summary") && { " ": "toggle" }),
    }[key];
    if (!act) return;
    event.preventDefault();
    does[act]();
  });
}

function numbers({ lanes, link, s }) {
  const head = ["Protocol", ...["Call", "Latency", "Bytes", "All there at"].map((word) => [word, SECONDS])];
  const rows = lanes.map((lane) => [
    lane.name,
    lane.call,
    lane.alpha,
    lane.transfer,
    lane.end,
    lane.line ? lane.data / lane.line : 1,
    told(lane),
  ]);
  const caption = `${nbytesText(s.nbytes)} over ${link.name}`;
  return table(caption, [...head, ["Data on the wire", PERCENT], "Readable"], rows);
}

export function furniture(widget) {
  const { does } = widget;
  const [size, time] = [sizer(does, GRAINS), timer(does)];
  const options = widget.known.map(({ slug, name }) => h("option", { value: slug }, name));
  const link = h("select", { "aria-label": "Link", change: () => does.take({ link: link.value }) }, options);
  const parts = {
    size,
    time,
    link,
    winners: h("div", { class: "bim-winners", "aria-hidden": "true" }),
    where: said("bim-where"),
    verdict: said("bim-verdict"),
    stage: h("div", { class: "bim-view" }),
    sentence: said("bim-sentence"),
    readout: h("dl", { class: "bim-readout" }),
    notice: said("bim-notice", { role: "status" }),
    said: said("bim-sr", { "aria-live": "polite" }),
    proof: twin("The lanes as numbers", () => numbers(widget)),
  };
  const ask = h("p", { class: "bim-controls" }, size.shown, " from GPU A to GPU B ", h("span", {}, "over ", link));
  const slider = h("label", { class: "bim-slider" }, size.range);
  const body = [
    ask,
    slider,
    parts.winners,
    parts.where,
    parts.verdict,
    legend(LEGEND, "bim-legend bim-r0"),
    parts.stage,
    time.node,
    parts.sentence,
  ];
  const below = [
    parts.readout,
    h("p", { class: "bim-note" }, NOTE),
    tools(widget, encode, python, parts.notice),
    parts.proof.node,
    parts.said,
  ];
  const root = h("div", { class: "bim-clock bim-widget" }, h("div", { class: "bim-body" }, body, below));
  listen(root, time.range, does);
  return { ...parts, root };
}
