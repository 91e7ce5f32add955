// What the frame around the text does: themes, copy buttons, where-am-I in the book and on the page, focus for scrollers.
(() => {
  const root = document.documentElement;

  // The system's theme, the other one, the system's by name, and again the system's: the first press always changes something.
  function themeSwitch(button) {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const order = () => ["system", ...(system.matches ? ["light", "dark"] : ["dark", "light"])];
    const show = () => {
      const { chosen } = root.dataset;
      button.setAttribute("aria-label", `Theme: ${chosen}`);
      button.title = chosen === "system" ? "Theme: as the system has it" : `Theme: ${chosen}`;
    };
    button.addEventListener("click", () => {
      const all = order();
      root.dataset.chosen = all[(all.indexOf(root.dataset.chosen) + 1) % all.length];
      try {
        if (root.dataset.chosen === "system") localStorage.removeItem("bim-theme");
        else localStorage.setItem("bim-theme", root.dataset.chosen);
      } catch {
        /* storage may be forbidden */
      }
      document.dispatchEvent(new CustomEvent("bim-theme"));
      show();
    });
    show();
    button.hidden = false;
  }

  // What the press has changed on this page, for a moment.
  const SAID = 5000; // ms
  let saying = 0;
  function sayReading(guesses) {
    const said = document.querySelector(".bim-reading-said");
    const waiting = document.querySelectorAll(".bim-predict:not([data-told])").length;
    const many = waiting === 1 ? "1 answer on this page waits" : `${waiting || "No"} answers on this page wait`;
    said.textContent = guesses ? `${many} for your guess.` : "Every answer is open.";
    clearTimeout(saying);
    saying = setTimeout(() => said.replaceChildren(), SAID);
  }
  document.addEventListener("bim-told", () => document.querySelector(".bim-reading-said")?.replaceChildren()); // one fewer waits

  // Read, where all is open, or Guess, where an answer waits for the reader's own: predict.js hears of it.
  function readingSwitch(button) {
    const show = () => {
      const guesses = root.dataset.reading === "guess";
      button.setAttribute("aria-pressed", String(guesses));
      if (button.matches(".bim-either"))
        button.title = guesses
          ? "Answers wait for your guess; press to open them"
          : "All is open; press to guess first";
    };
    button.addEventListener("click", () => {
      root.dataset.reading = root.dataset.reading === "guess" ? "read" : "guess";
      try {
        localStorage.setItem("bim-reading", root.dataset.reading);
      } catch {
        /* storage may be forbidden */
      }
      document.dispatchEvent(new CustomEvent("bim-reading"));
      sayReading(root.dataset.reading === "guess");
    });
    document.addEventListener("bim-reading", show);
    show();
    button.hidden = false;
  }

  function copyButton(pre) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "bim-copy", textContent: "Copy" });
    button.setAttribute("aria-label", "Copy this code");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(pre.textContent.trimEnd());
      button.textContent = "Copied";
      setTimeout(() => {
        button.textContent = "Copy";
      }, 1500);
    });
    pre.parentElement.append(button);
  }

  // A box that scrolls must be reachable by keyboard; one that does not should cost no extra tab stop.
  function reachable(box) {
    const scrollsDown = box.matches(".bim-mount") && box.scrollHeight > box.clientHeight;
    if (scrollsDown || box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    cut(box);
  }

  // On which sides something is out of sight: the style sheet shows an edge there.
  function cut(box) {
    const left = box.scrollLeft > 1;
    const right = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
    const sides = [left && "left", right && "right"].filter(Boolean).join(" ");
    if (sides) box.dataset.cut = sides;
    else delete box.dataset.cut;
  }

  function followReading(links) {
    const byId = new Map(links.map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
    const seen = new Set();
    const watcher = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) seen[isIntersecting ? "add" : "delete"](target.id);
        const current = [...byId.keys()].findLast((id) => seen.has(id));
        const above = entries.some(({ boundingClientRect }) => boundingClientRect.top > 0); // the reader is at the page's head again
        for (const [id, link] of byId) {
          if (id === current) link.setAttribute("aria-current", "true");
          else if (current || above) link.removeAttribute("aria-current");
        }
        if (current) inView(document.getElementById("contents"), byId.get(current));
      },
      { rootMargin: "-80px 0px -60% 0px" },
    );
    for (const id of byId.keys()) {
      const section = document.getElementById(id);
      if (section) watcher.observe(section);
    }
  }

  // A list that is longer than a window shows where the reader is: in its middle, unless it is in view.
  function inView(list, here) {
    const [box, line] = [list, here].map((one) => one.getBoundingClientRect());
    if (line.top >= box.top && line.bottom <= Math.min(box.bottom, innerHeight)) return;
    list.scrollTop += line.top + line.height / 2 - box.top - box.height / 2;
  }

  function showHere(chapters) {
    const here = chapters.querySelector("[aria-current]");
    if (here) inView(chapters, here);
  }

  // On a telephone one press shows every chapter; what is folded then, the reader has folded.
  function unfold({ newState }) {
    if (newState === "open") chapters.querySelectorAll("details").forEach((part) => (part.open = true));
  }

  const BOXES = ".bim-sideways, .bim-text pre, .bim-mount:not([data-mounted])"; // what is not drawn yet shows its numbers in a scroller
  const boxes = new Set();
  const watchSize = new ResizeObserver((entries) => entries.forEach(({ target }) => reachable(target)));
  function watch(box) {
    if (boxes.has(box)) return;
    boxes.add(box);
    watchSize.observe(box);
    box.addEventListener("scroll", () => cut(box), { passive: true });
  }
  document.querySelectorAll(BOXES).forEach(watch);
  function leave(mount) {
    boxes.delete(mount);
    watchSize.unobserve(mount);
    mount.removeAttribute("tabindex");
    delete mount.dataset.cut;
  }
  // A widget brings its own when it comes alive.
  const text = document.getElementById("text");
  const alive = new MutationObserver((seen) =>
    seen.forEach(({ target }) => {
      leave(target);
      target.querySelectorAll(BOXES).forEach(watch);
    }),
  );
  alive.observe(text, { attributeFilter: ["data-mounted"], subtree: true });
  // A formula grows inside its box when its letters' font arrives, and the box itself keeps its size.
  document.fonts.addEventListener("loadingdone", () => boxes.forEach(reachable));
  document.querySelectorAll(".highlight > pre:not(.cell_output *)").forEach(copyButton); // code, not what it printed
  followReading([...document.querySelectorAll(".bim-contents a")]);
  const chapters = document.getElementById("chapters");
  chapters.addEventListener("beforetoggle", unfold);
  chapters.addEventListener("toggle", ({ target }) => target === chapters && showHere(chapters));
  showHere(chapters);
  const contents = document.getElementById("contents");
  contents?.addEventListener("click", ({ target }) => {
    if (target.closest("a") && contents.matches(":popover-open")) contents.hidePopover();
  });
  document.querySelectorAll(".bim-reading").forEach(readingSwitch);
  themeSwitch(document.getElementById("bim-theme"));
  void document.body.offsetHeight; // what is laid out asks for its fonts
  document.fonts.ready.then(() => delete root.dataset.letters);
})();
