// A schedule written by hand: the text of the one on show, to be changed, and shown where it can be; else what is wrong with it.
import { h } from "../../shared/page/dom.mjs";
import { tool } from "../../shared/page/link.mjs";
import { asker } from "../../shared/page/python.mjs";
import { folded } from "../../shared/page/tables.mjs";
import { written } from "../own.mjs";
import { MOST } from "../programs.mjs";

const READ = "helpers.pipeline.own:read";
const SAYS =
  "A line a rank, in order: stage, F, B, I or W, microbatch, as helpers.pipeline prints it. Messages are placed anew.";

export function yours(widget) {
  const text = h("textarea", { rows: 6, spellcheck: "false", wrap: "off", "aria-label": "A schedule as text" });
  const refused = h("p", { class: "bim-refused", role: "alert" });
  const coming = h("div");
  const show = async () => {
    const { value, error } = await ask(READ, text.value, MOST.nranks, MOST.nmicrobatches, MOST.nvirtual);
    const why = value?.error ?? error;
    refused.textContent = why ? `Not drawn: ${why}.` : "";
    if (value?.change) widget.does.take(value.change);
  };
  const ask = asker(widget, coming, show);
  const fill = () => {
    text.value = written(widget.runs[0]);
    refused.replaceChildren();
  };
  const tools = h("div", { class: "bim-tools" }, tool("Show it", show), tool("The one on show", fill));
  return folded("bim-details bim-own", "A schedule of your own", () => {
    fill();
    return [h("p", { class: "bim-told" }, SAYS), text, refused, coming, tools];
  }).node;
}
