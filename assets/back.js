// Coming back: how far each page was read is kept by this browser and sent nowhere. Pages read to their end are marked in every list, and
// the front page says where one stopped and what is new. It stands before frame.js, which lets the page be seen: so nothing moves.
BytesInMotion.back = (() => {
  const [PROGRESS, SEEN] = ["bim-progress", "bim-seen"]; // page -> how far and when; the changes that were looked at
  const BANDS = 20; // of a page's text: one is read when its middle has been in the window for a moment
  const MOMENT = 1000; // ms
  const [BEGUN, DONE] = [0.1, 0.9]; // of all bands: less was a glance; the rest are sources
  const shown = document.querySelector("#chapters [data-page] [aria-current]");
  const page = decodeURI(location.pathname).match(/([^/]+\/[^/]+)\.html$/)?.[1];

  function kept(name, otherwise) {
    try {
      return JSON.parse(localStorage.getItem(name)) ?? otherwise;
    } catch {
      return otherwise; // forbidden, or written by somebody else
    }
  }

  // -> is it kept?
  function keep(name, value) {
    try {
      localStorage.setItem(name, typeof value === "string" ? value : JSON.stringify(value));
      return true;
    } catch {
      return false;
    }
  }

  function made(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const day = (date) => {
    const year = date.slice(0, 4) === new Date().toISOString().slice(0, 4) ? {} : { year: "numeric" };
    return new Date(date).toLocaleDateString("en-GB", { day: "numeric", month: "long", ...year });
  };

  // What was read here and there is read; where one stopped last, one stopped.
  function merged(one, other) {
    if (!one || !other) return one ?? other;
    const bands = [...new Set([...one.bands, ...other.bands])].sort((a, b) => a - b);
    return { ...(one.seen > other.seen ? one : other), bands, at: bands.length / BANDS };
  }

  function mark() {
    const progress = kept(PROGRESS, {});
    for (const place of document.querySelectorAll("[data-page]"))
      place.classList.toggle("bim-done", progress[place.dataset.page]?.at >= DONE);
  }

  function follow(text) {
    const heads = [...text.querySelectorAll("section[id] > h2")];
    let timer = 0;
    function look() {
      timer = 0;
      if (document.hidden) return;
      const { top, height } = text.getBoundingClientRect();
      const middle = (band) => top + ((band + 0.5) / BANDS) * height;
      const bands = [...Array(BANDS).keys()].filter((band) => middle(band) > 0 && middle(band) < innerHeight);
      const head = heads.findLast((one) => one.getBoundingClientRect().top < innerHeight / 2);
      const [id, section] = [head?.parentElement.id ?? "", head?.firstChild.textContent ?? ""];
      const now = { at: bands.length / BANDS, seen: new Date().toISOString(), bands, id, section };
      const progress = kept(PROGRESS, {});
      keep(PROGRESS, { ...progress, [page]: merged(progress[page], now) });
      mark();
    }
    const later = () => {
      timer ||= setTimeout(look, MOMENT);
    };
    addEventListener("scroll", later, { passive: true });
    document.addEventListener("visibilitychange", later);
    later();
  }

  // A lab has its chapter's name; what has no number, as this book's tools, is not read to its end.
  const chapters = [...document.querySelectorAll("#chapters li[data-page]:has(a > span)")];
  const place = (name) => chapters.find(({ dataset }) => dataset.page === name.replace("notebooks/", "book/"));
  const titled = (li) => made("em", {}, li.querySelector("a").lastChild.textContent.trim());

  function stopped() {
    const found = Object.entries(kept(PROGRESS, {})).filter(([name, { at }]) => at >= BEGUN && place(name));
    const [name, { at, seen, id, section }] = found.sort(([, one], [, other]) =>
      one.seen < other.seen ? 1 : -1,
    )[0] ?? ["", {}];
    if (!name) return null;
    const next = at >= DONE && chapters[chapters.indexOf(place(name)) + 1];
    const lab = name.startsWith("notebooks/") ? ["the lab of ", titled(place(name))] : [titled(place(name))];
    if (next) {
      const link = made("a", { href: next.querySelector("a").href }, titled(next));
      return made("p", {}, "You have read ", ...lab, `, on ${day(seen)}. Next: `, link);
    }
    const where = section ? [", ", made("em", {}, section)] : [];
    const link = made("a", { href: `../${name}.html${id && `#${id}`}` }, "Go on");
    return made("p", {}, "You stopped at ", ...lab, ...where, `, on ${day(seen)}. `, link);
  }

  // What changed is known by name, not by date: it is new to who has not looked at it. Who comes for the first time has missed nothing.
  function news(changes, texts) {
    const seen = kept(SEEN, null);
    const unseen = seen ? changes.filter((change) => !seen.includes(change)) : [];
    if (!seen) keep(SEEN, changes);
    if (!unseen.length) return null;
    const many = unseen.length === 1 ? "1 change" : `${unseen.length} changes`;
    const list = made("ul");
    const box = made("details", {}, made("summary", {}, `New since you last looked: ${many}`), list);
    box.addEventListener("toggle", async () => {
      if (!box.open || list.children.length) return;
      await BytesInMotion.load(texts);
      list.append(...unseen.map((change) => made("li", {}, BytesInMotion.back.texts[change])));
      keep(SEEN, changes);
    });
    return box;
  }

  // The front page's own script calls it (website/changes.py).
  function greet(changes, texts) {
    const lines = [stopped(), news(changes, texts)].filter(Boolean);
    if (lines.length) document.querySelector(".bim-text").prepend(made("div", { class: "bim-again" }, ...lines));
  }

  mark();
  if (shown) follow(document.querySelector(".bim-text"));
  return { kept, keep, made, day, merged, mark, greet, PROGRESS, BANDS };
})();
