// What a page says while Python comes: from where, how much of it, a bar; and where it failed, the way to try again.
import { h } from "./dom.mjs";
import { tool } from "./link.mjs";

const WORDS = {
  loading: ({ from }) => `Loading Python from ${from}, once for this page.`,
  starting: () => "Starting Python.",
  failed: () => "Python did not start in this browser.",
};

const megabytes = (nbytes) => (nbytes / 1e6).toFixed(1);

// python: BytesInMotion.python. again: what "Try again" does. -> { node, end }; the node is hidden where nothing is to be said.
export function loading(python, again) {
  const said = h("span", { role: "status" });
  const much = h("span");
  const bar = h("progress", { "aria-label": "How much of Python is loaded" });
  const retry = tool("Try again", again);
  const node = h("p", { class: "bim-loading", hidden: true }, said, bar, much, retry);
  const end = python.watch((state) => {
    const { phase, loaded, total } = state;
    const words = WORDS[phase]?.(state) ?? "";
    node.hidden = !words;
    if (said.textContent !== words) said.textContent = words; // a screen reader hears of phases, not of each piece
    const isLoading = phase === "loading" && total > 0;
    bar.hidden = phase === "failed";
    if (isLoading) Object.assign(bar, { max: total, value: loaded });
    else bar.removeAttribute("value");
    much.textContent = isLoading ? `${megabytes(loaded)} of ${megabytes(total)} MB` : "";
    retry.hidden = phase !== "failed";
  });
  return { node, end };
}

export default { loading };
