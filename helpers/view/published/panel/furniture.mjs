// What stands still: the sentences with their choices, the picture, the slider, what is read off, where it comes from, tools.
import { h } from "../../shared/page/dom.mjs";
import { tool, tools, twin } from "../../shared/page/tools.mjs";
import { LETTERS } from "../data/words.mjs";
import { encode, python } from "../link.mjs";
import { sizer, switches } from "./controls.mjs";
import { tables } from "./numbers.mjs";
import { yours } from "./yours.mjs";

const NOTE =
  "Marks are medians where a size was measured several times, bars go from the least time to the most. The model is NCCL's own " +
  "formula with our corrections; its launch and hop, and five numbers more, were fitted to the medians of the six GPUs in half, so " +
  "there it is no blind test. The line is the one whose largest error is least.";

export function furniture(widget) {
  const { does } = widget;
  const [size, shows, own] = [sizer(does), switches(does), yours(widget)];
  const more = tool("Another curve beside it", does.add, { class: "bim-tool bim-pub-more" });
  const parts = {
    size,
    shows,
    own,
    more,
    sentences: h("div", { class: "bim-pub-sentences" }),
    stage: h("div", { class: "bim-view" }),
    sentence: h("p", { class: "bim-sentence" }),
    cards: h("dl", { class: "bim-readout" }),
    sources: h("ul", { class: "bim-pub-sources" }),
    notice: h("p", { class: "bim-notice", role: "status" }),
    said: h("p", { class: "bim-sr", "aria-live": "polite" }),
    proof: twin("All sizes as numbers", () => tables(widget)),
  };
  const above = [parts.sentences, more, shows.node, parts.stage, size.node, parts.sentence, parts.cards];
  const below = [
    parts.sources,
    h("p", { class: "bim-note" }, NOTE),
    own.node,
    tools(widget, encode, python, parts.notice),
    parts.proof.node,
  ];
  const root = h(
    "div",
    { class: "bim-published bim-widget" },
    h("div", { class: "bim-body" }, above, below, parts.said),
  );
  own.drops(root);
  return { ...parts, root };
}

export const isFree = ({ s }) => s.curves.length < LETTERS.length;
