// Where a number comes from, without a mouse that hovers: a tap or the keyboard's focus shows the note that else is its title.
// A fact is a link to its source: a mouse follows it at once, Enter too; a finger sees first where it leads.
(() => {
  const CITED = ".bim-text :is(abbr.bim-recorded, a.bim-fact)";
  const EDGE = 12;
  const note = document.createElement("div");
  Object.assign(note, { id: "source", className: "bim-origin", popover: "auto" });
  document.getElementById("text").append(note);

  function link(href) {
    const open = document.createElement("a");
    Object.assign(open, { href, textContent: "Open it" });
    return open;
  }

  // Under the number, inside the window, and scrolling along with the text.
  function show(cited) {
    const words = cited.title.replace(/^./, (first) => first.toUpperCase());
    note.replaceChildren(`${words}. `, ...(cited.href ? [link(cited.href)] : []));
    if (!note.matches(":popover-open")) note.showPopover();
    const [{ left, bottom }, wide] = [cited.getBoundingClientRect(), document.documentElement.clientWidth];
    note.style.left = `${Math.max(EDGE, Math.min(left, wide - note.offsetWidth - EDGE)) + scrollX}px`;
    note.style.top = `${bottom + 6 + scrollY}px`;
  }

  for (const cited of document.querySelectorAll(CITED)) {
    const isLink = Boolean(cited.href);
    if (!isLink) Object.assign(cited, { tabIndex: 0, role: "button" });
    cited.addEventListener("focus", () => cited.matches(":focus-visible") && show(cited));
    cited.addEventListener("blur", ({ relatedTarget }) => note.contains(relatedTarget) || note.hidePopover());
    cited.addEventListener("click", (event) => {
      if (isLink && event.pointerType !== "touch") return;
      event.preventDefault();
      show(cited);
    });
    cited.addEventListener("keydown", (event) => {
      if (isLink || ![" ", "Enter"].includes(event.key)) return;
      event.preventDefault();
      show(cited);
    });
  }
})();
