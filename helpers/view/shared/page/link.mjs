// The tools under a widget. What goes on the clipboard is said; where the browser refuses, it is shown instead.
import { textOf } from "./copied.mjs";
import { h } from "./dom.mjs";

export async function copy(text, what, notice) {
  try {
    await navigator.clipboard.writeText(text);
    notice.replaceChildren(`${what} copied.`);
  } catch {
    const box = h("textarea", {
      readonly: true,
      rows: Math.min(6, text.split("\n").length),
      "aria-label": `${what}, to copy by hand`,
    });
    box.value = text;
    notice.replaceChildren(box);
    box.select();
  }
}

// The address of what stands there: in the bar, and on the clipboard.
export function share(address, notice) {
  history.replaceState(null, "", address);
  return copy(location.href, "Link", notice);
}

export const tool = (words, click, more) => h("button", { type: "button", class: "bim-tool", click, ...more }, words);

// encode(s, index), and python(s) where it has one, tell what stands there.
// Links can be copied where an address holds the state: on the page, not in a kernel.
export function tools(widget, encode, python, notice) {
  return h(
    "div",
    { class: "bim-tools" },
    !widget.live && tool("Copy link", () => share(encode(widget.s, widget.index), notice)),
    python && tool("Copy as Python", () => copy(textOf(python(widget.s)), "Python", notice)),
    notice,
  );
}
