// The search box of every page: `/` or Ctrl K leads to it, and what is found stands under it while one types. The index, which is the
// search page's, comes with the first focus; on the search page itself the results below are the answer (search.js).
(() => {
  const MOST = 8;
  const INDEX = ["vendor/minisearch/minisearch.js", "search.js", "search-index.js"]; // each needs those before it
  const box = document.querySelector(".bim-search input, .bim-ask input");

  function onKey(event) {
    const { key, target } = event;
    const slash = key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey;
    const control = key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
    if (!(slash || control) || event.defaultPrevented) return;
    if (target.closest("input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]"))
      return;
    event.preventDefault();
    box.focus();
    box.select();
  }
  window.addEventListener("keydown", onKey);

  const form = box.closest(".bim-search");
  if (!form) return;
  const made = (tag, known, ...children) => {
    const node = Object.assign(document.createElement(tag), known);
    node.append(...children);
    return node;
  };
  const list = made("div", { id: "bim-found", role: "listbox", ariaLabel: "Pages found" });
  const told = made("p", { role: "status" });
  const found = made("div", { className: "bim-found", hidden: true }, list, told);
  form.append(found);
  box.role = "combobox";
  box.setAttribute("aria-controls", list.id);
  box.ariaAutoComplete = "list";

  function choose(at) {
    [...list.children].forEach((option, i) => (option.ariaSelected = String(i === at)));
    const option = list.children[at];
    if (option) box.setAttribute("aria-activedescendant", option.id);
    else box.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }

  function open(is) {
    found.hidden = !is;
    box.ariaExpanded = String(is);
    choose(-1);
  }
  open(false);

  function option({ page, at, title, heading }, i) {
    const href = document.documentElement.dataset.content_root + page + (at && `#${at}`);
    const where = [page.startsWith("notebooks/") && "Lab", at && heading].filter(Boolean).join(": ");
    return made("a", { id: `bim-found-${i}`, role: "option", tabIndex: -1, href }, title, made("span", {}, where));
  }

  async function ask() {
    for (const path of INDEX) await BytesInMotion.load(path);
    const question = box.value.trim();
    const { hits } = question ? BytesInMotion.find(question) : { hits: [] };
    list.replaceChildren(...hits.slice(0, MOST).map(option));
    told.textContent =
      hits.length > MOST ? `Enter: all ${hits.length} pages` : hits.length ? "" : `No page has “${question}”.`;
    open(Boolean(question) && form.contains(document.activeElement));
  }

  const keys = {
    ArrowDown: (at, last) => choose(at < last ? at + 1 : 0),
    ArrowUp: (at, last) => choose(at > 0 ? at - 1 : last),
    Enter: (at) => list.children[at]?.click(),
    Escape: () => open(false),
  };
  box.addEventListener("keydown", (event) => {
    const options = [...list.children];
    const at = options.findIndex(({ ariaSelected }) => ariaSelected === "true");
    if (found.hidden || !keys[event.key] || (event.key === "Enter" && at < 0)) return;
    event.preventDefault();
    keys[event.key](at, options.length - 1);
  });
  box.addEventListener("input", ask);
  box.addEventListener("focus", ask);
  form.addEventListener("focusout", ({ relatedTarget }) => form.contains(relatedTarget) || open(false));
  list.addEventListener("click", () => open(false));
})();
