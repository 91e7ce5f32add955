// A page on its way to paper: light, everything drawn, and the addresses behind its links numbered at its end. print.css does the rest.
(() => {
  const root = document.documentElement;
  const OUTSIDE = '.bim-text a[href^="http"]';
  let undo = [];

  const made = (tag, kind, ...children) => {
    const node = document.createElement(tag);
    node.className = kind;
    node.append(...children);
    return node;
  };

  function addressed(href) {
    const link = made("a", "", href);
    link.href = href;
    return made("li", "", link);
  }

  // A number behind each link that leads out of the book, the same for the same address, and the list of them. -> what was added
  function numbered(links) {
    const told = links.filter((link) => link.textContent !== link.getAttribute("href"));
    const places = new Map();
    for (const { href } of told) if (!places.has(href)) places.set(href, places.size + 1);
    const marks = told.map((link) => made("sup", "bim-link-number", `[${places.get(link.href)}]`));
    told.forEach((link, i) => link.after(marks[i]));
    if (!places.size) return [];
    const title = made("h2", "", "Where the links lead");
    const list = made("section", "bim-links", title, made("ol", "", ...[...places.keys()].map(addressed)));
    document.querySelector(".bim-text").append(list);
    return [...marks, list];
  }

  function before() {
    if (undo.length) return;
    const { theme } = root.dataset;
    Object.assign(root.dataset, { theme: "light", paper: "" }); // charts and canvases are drawn again for that
    const added = numbered([...document.querySelectorAll(OUTSIDE)]);
    undo = [
      () => {
        root.dataset.theme = theme;
        delete root.dataset.paper;
      },
      ...added.map((node) => () => node.remove()),
    ];
    BytesInMotion.all(); // asked for from the browser's menu: the next time nothing is missing
  }

  function after() {
    undo.forEach((deed) => deed());
    undo = [];
  }

  // The browser does not wait for what is drawn late, so the keys that print wait for it themselves.
  function onKey(event) {
    if (event.key !== "p" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    BytesInMotion.all().then(() => window.print());
  }

  window.addEventListener("beforeprint", before);
  window.addEventListener("afterprint", after);
  window.addEventListener("keydown", onKey);
})();
