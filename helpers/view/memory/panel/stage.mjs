// The widget's fixed furniture, built once: heading and badge, controls, picture and keys, transport, layers, list, tools.
import { h } from "../../shared/page/dom.mjs";
import { tool, tools } from "../../shared/page/tools.mjs";
import { invitation } from "./invitation.mjs";
import { tipNode } from "./tip.mjs";

const region = (kind, name) => h("div", { class: kind, tabindex: "0", role: "region", "aria-label": name });

// The picture with its keys, and every rank beside it.
function pictured(index) {
  const pictures = [0, 1].map(() => ({
    canvas: h("canvas", { class: "bim-mt-picture", role: "img" }),
    name: h("figcaption", { class: "bim-mt-name" }),
  }));
  const figures = pictures.map(({ canvas, name }) => h("figure", {}, name, canvas));
  const keys = h("ol", { class: "bim-mt-keys", "aria-label": "What holds how much at this moment" });
  const name =
    "Memory over time: Space plays, arrow keys step, Home and End jump, plus and minus go nearer and farther, 0 shows all";
  const tip = tipNode(index);
  const stage = h("div", { class: "bim-mt-stage", tabindex: "0", role: "group", "aria-label": name }, figures, tip);
  return { tip, pictures, keys, stage, ranks: region("bim-scroll bim-mt-ranks", "Every rank at this moment") };
}

// A bar for every layer.
function layered() {
  const bars = h("canvas", { class: "bim-mt-bars", role: "img" });
  const barText = h("p", { class: "bim-mt-note" });
  const title = h("p", { class: "bim-title" }, "Which layer holds how much?");
  return { bars, barText, barPanel: h("div", { class: "bim-mt-panel" }, title, bars, barText) };
}

// What is alive, with a field to search in it.
function listed(does) {
  const search = h("input", {
    type: "search",
    class: "bim-mt-search",
    placeholder: "part of a name",
    "aria-label": "Show only blocks with this in their names",
    input: () => does.filter(search.value),
  });
  const title = h("p", { class: "bim-title" }, "What is alive here?");
  const listHead = h("div", { class: "bim-mt-choose" }, title, h("span", { class: "bim-mt-listing" }), search);
  const listTold = h("p", { class: "bim-mt-note" });
  const listBody = region("bim-scroll", "What is alive here");
  const more = tool("Show more", does.more);
  const tools = h("div", { class: "bim-tools" }, listTold, more);
  return {
    search,
    listHead,
    listTold,
    listBody,
    more,
    list: h("div", { class: "bim-mt-panel" }, listHead, listBody, tools),
  };
}

// What goes out of the page, and what comes in.
function tooled(does, live) {
  const notice = h("p", { class: "bim-notice", role: "status" });
  const back = tool("Back to the course's trace", does.back);
  const under = tools({ live }, does.address, does.python, notice);
  const saves = [
    tool("Save as a page", () => does.save(false)),
    tool("Save without file names", () => does.save(true)),
  ];
  const handed = h("span", { class: "bim-mt-handed" }, saves);
  notice.before(back, handed);
  return { notice, back, handed, under, ...invitation(does, notice) };
}

export function furniture(does, { live, index, bar, numbers }) {
  const parts = { ...pictured(index), ...layered(), ...listed(does), ...tooled(does, live) };
  const [title, badge] = [h("strong"), h("span", { class: "bim-mt-badge" })];
  const controls = h("p", { class: "bim-controls" });
  const holders = h("div", { class: "bim-mt-holders", hidden: true });
  const sentence = h("p", { class: "bim-sentence" });
  const allocator = h("p", { class: "bim-mt-note", hidden: true });
  const said = h("p", { class: "bim-sr", "aria-live": "polite" });
  const body = h(
    "div",
    { class: "bim-body" },
    h("div", { class: "bim-mt-heading" }, title, badge),
    controls,
    parts.own,
    holders,
    h(
      "div",
      { class: "bim-mt-deck" },
      h("div", { class: "bim-mt-beside" }, parts.stage, parts.keys, parts.ranks),
      bar,
      sentence,
      allocator,
    ),
    parts.barPanel,
    parts.list,
    parts.under,
    numbers,
    said,
  );
  return {
    ...parts,
    root: h("div", { class: "bim-mt bim-widget" }, body),
    title,
    badge,
    controls,
    holders,
    sentence,
    allocator,
    said,
  };
}
