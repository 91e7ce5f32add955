// Puts text on the clipboard and says so; where the browser refuses, shows the text to be copied by hand.
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
