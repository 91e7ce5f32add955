// What a block of the page gives: its text, and the tables and mounts that it shows, which live as those of the page do.
BytesInMotion.cellOutput = (() => {
  const base = document.currentScript.src.replace(/cells\/[^/]*$/, "");
  const MOST = 100_000; // letters of a text that are kept, the last ones: a loop may print without end
  const EVERY = 100; // ms between two drawings of a text: to lay out so many letters takes a third of that
  const MANY = 100; // things that are kept
  const COLUMNS = /\S {3,}\S/; // what is printed in columns keeps them (website/theme.py)
  const ELEMENTS = "DIV P TABLE CAPTION THEAD TBODY TR TH TD SPAN B I EM STRONG CODE PRE UL OL LI BR SUB SUP".split(
    " ",
  );
  const ATTRIBUTES = ["class", "data-kind", "data-spec", "scope", "colspan", "rowspan"];

  const worn = {}; // kind of widget -> its sheets

  function boxed(kind, ...inside) {
    const node = document.createElement("div");
    node.className = kind;
    node.append(...inside);
    return node;
  }

  // Text, tables and mounts pass and nothing else: what a block shows is HTML that a reader's own code may have made.
  function safe(node) {
    if (node.nodeType === Node.TEXT_NODE) return [node.data];
    if (node.nodeType !== Node.ELEMENT_NODE || ["SCRIPT", "STYLE"].includes(node.tagName)) return [];
    const inside = [...node.childNodes].flatMap(safe);
    if (!ELEMENTS.includes(node.tagName)) return inside;
    const made = document.createElement(node.tagName);
    made.append(...inside);
    for (const name of ATTRIBUTES) if (node.hasAttribute(name)) made.setAttribute(name, node.getAttribute(name));
    return node.tagName === "TABLE" ? [boxed("bim-sideways", made)] : [made];
  }

  const sheet = (href) =>
    new Promise((done) => {
      const link = Object.assign(document.createElement("link"), {
        rel: "stylesheet",
        href,
        onload: done,
        onerror: done,
      });
      document.head.append(link);
    });

  // A page has the sheets of the widgets that were printed there; those of others come with the first.
  async function wear(kind) {
    await BytesInMotion.load("cells/sheets.js");
    const here = new Set(Array.from(document.styleSheets, ({ href }) => href));
    const missing = (worn[kind] ?? []).map((name) => base + name).filter((href) => !here.has(href));
    await Promise.all(missing.map(sheet));
  }

  // Draws a mount that came later. It gets the room of the one that stood there; a link to that one does not name this one.
  async function enliven(mount, printed) {
    mount.style.cssText = printed?.style.cssText ?? "";
    if (/^#\w+-\d+--/.test(location.hash)) history.replaceState(null, "", location.pathname + location.search);
    await wear(mount.dataset.kind);
    if (mount.isConnected) await BytesInMotion.mount(mount);
  }

  // What is higher or wider than its box scrolls, also by keyboard.
  function reachable(pre, label) {
    const scrolls = pre.scrollHeight > pre.clientHeight + 1 || pre.scrollWidth > pre.clientWidth + 1;
    for (const [name, value] of Object.entries({ tabindex: "0", role: "region", "aria-label": label })) {
      if (scrolls) pre.setAttribute(name, value);
      else pre.removeAttribute(name);
    }
  }

  function output(cell) {
    const over = cell.block.closest(".cell_input") ?? cell.block;
    const out = boxed("cell_output bim-cell-output");
    let text = null; // the one that goes on
    let mounts = 0;

    const below = () => (over.nextElementSibling?.matches(".cell_output") ? over.nextElementSibling : null);

    // What stood there goes with the first that comes, so that the page does not jump meanwhile; what was printed is kept for a Reset.
    function begin() {
      const had = below();
      if (had === out) return;
      if (had && !had.matches(".bim-cell-output")) cell.saved = had;
      out.style.minHeight = had && `${had.offsetHeight}px`;
      had?.remove();
      over.after(out);
    }

    function add(node) {
      begin();
      out.append(node);
      while (out.children.length > MANY) out.firstChild.remove();
    }

    function say(said, kind = "stream") {
      if (text?.kind !== kind) {
        close();
        text = { kind, all: "", pre: document.createElement("pre") };
        add(boxed(`output ${kind}`, text.pre));
      }
      text.all = (text.all + said).slice(-MOST);
      text.due ??= setTimeout(write, EVERY, text);
    }

    function write(one) {
      clearTimeout(one.due);
      one.due = null;
      one.pre.textContent = one.all;
      one.pre.classList.toggle("bim-columns", COLUMNS.test(one.all));
      reachable(one.pre, `Output of block ${cell.number}`);
    }

    // What comes next stands below it.
    function close() {
      if (text) write(text);
      text = null;
    }

    function show(bundle) {
      close();
      const html = bundle["text/html"];
      if (!html) {
        say(bundle["text/plain"] ?? "", "text_plain");
        return close();
      }
      const { body } = new DOMParser().parseFromString(html, "text/html");
      const node = boxed("output text_html", ...[...body.childNodes].flatMap(safe));
      add(node);
      for (const box of node.querySelectorAll(".bim-sideways")) reachable(box, `Table of block ${cell.number}`);
      const printed = cell.saved?.querySelectorAll(".bim-mount") ?? [];
      for (const mount of node.querySelectorAll(".bim-mount")) enliven(mount, printed[mounts++]);
    }

    // A block that gave nothing leaves nothing there; one that was stopped first, what was there.
    function ended(stopped) {
      close();
      if (!stopped) begin();
      out.style.minHeight = "";
      if (!out.childElementCount) out.remove();
    }

    function restore() {
      if (below()?.matches(".bim-cell-output")) below().remove();
      if (cell.saved) over.after(cell.saved);
      cell.saved = null;
    }

    return { text: say, shown: show, ended, restore };
  }

  return Object.assign(output, { sheets: (found) => Object.assign(worn, found) });
})();
