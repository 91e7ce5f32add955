// A schedule written by hand: the text of the one on show, to be changed, and shown where it can be; else what is wrong with it.
import { h } from "../../shared/page/dom.mjs";
import { tool } from "../../shared/page/link.mjs";
import { folded } from "../../shared/page/tables.mjs";
import { read, written } from "../own.mjs";

const SAYS =
  "A line a rank, in order: stage, F, B, I or W, microbatch, as helpers.pipeline prints it. Messages are placed anew.";

export function yours(widget) {
  const text = h("textarea", { rows: 6, spellcheck: "false", wrap: "off", "aria-label": "A schedule as text" });
  const refused = h("p", { class: "bim-refused", role: "alert" });
  const show = () => {
    const { change, error } = read(widget.known, text.value);
    refused.textContent = error ? `Not drawn: ${error}.` : "";
    if (change) widget.does.take(change);
  };
  const fill = () => {
    text.value = written(widget.runs[0]);
    refused.replaceChildren();
  };
  const tools = h("div", { class: "bim-tools" }, tool("Show it", show), tool("The one on show", fill));
  return folded("bim-details bim-own", "A schedule of your own", () => {
    fill();
    return [h("p", { class: "bim-told" }, SAYS), text, refused, tools];
  }).node;
}
