// Small figures, whole as they are: what this adds is their soft play, once in view, a slider where they have one, and words that light
// their marks. helpers/view/sketch draws them.
(() => {
  const MARK = "bim-is-";
  const SEEN = 0.8; // how much of a figure is in view when it plays
  const still = matchMedia("print, (prefers-reduced-motion: reduce)");
  const all = (selector, node = document) => [...node.querySelectorAll(selector)];
  const marksOf = (node) => [...node.classList].filter((name) => name.startsWith(MARK));
  const figures = all(".bim-sketch").map((el) => ({ el, ...JSON.parse(el.dataset.sketch), timer: 0 }));

  // A figure at one of its moments: what comes later is faint, the marker stands where it is.
  function show(figure, moment) {
    const { el, at, says } = figure;
    for (const part of all("[data-since]", el)) part.classList.toggle("bim-later", part.dataset.since > moment);
    const here = el.querySelector(".bim-here");
    if (here) here.style.transform = `translateX(${at[moment]}px)`;
    const slider = el.querySelector("input");
    if (!slider) return;
    slider.value = moment;
    slider.ariaValueText = says[moment];
    el.querySelector(".bim-sketch-bar p").textContent = says[moment];
  }

  function stop(figure) {
    clearTimeout(figure.timer);
    figure.el.dataset.moves = "done";
  }

  function play(figure, moment = 0) {
    const { el, rest, pace } = figure;
    el.dataset.moves = "now";
    show(figure, moment);
    figure.timer = setTimeout(() => (moment < rest ? play(figure, moment + 1) : stop(figure)), pace);
  }

  function whole(figure) {
    stop(figure);
    show(figure, figure.rest);
  }

  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        watcher.unobserve(target);
        const figure = figures.find(({ el }) => el.contains(target));
        if (!still.matches && !("held" in figure.el.dataset)) play(figure); // never out of the reader's hand
      }
    },
    { threshold: SEEN },
  );
  for (const figure of figures) {
    watcher.observe(figure.el.querySelector("svg"));
    figure.el.addEventListener("input", ({ target }) => {
      stop(figure);
      figure.el.dataset.held = ""; // from now on the marker is seen
      show(figure, Number(target.value));
    });
  }
  window.addEventListener("beforeprint", () => figures.forEach(whole));

  // Words and marks of one figure light each other; ranks, chunks, alpha and beta also in the player that is nearest.
  const top = (node) => node.getBoundingClientRect().top;
  const near = (nodes, node) =>
    nodes.toSorted((a, b) => Math.abs(top(a) - top(node)) - Math.abs(top(b) - top(node)))[0];

  function home(word) {
    const [mark] = marksOf(word);
    const have = (box) => all(".bim-sketch", box).filter((el) => el.querySelector(`svg .${mark}`));
    return (
      word.closest(".bim-sketch") ?? near(have(word.closest("section") ?? document), word) ?? near(have(document), word)
    );
  }

  function lightable(word) {
    word.tabIndex = 0;
    word.role = "button";
    word.ariaPressed = false;
    return [word, home(word)];
  }

  const words = new Map(all(".bim-word").map(lightable));

  function light(el, names, on) {
    const own = [...words].filter(([, figure]) => figure === el).map(([word]) => word);
    for (const node of [...all(`svg [class*="${MARK}"]`, el), ...own])
      node.classList.toggle("bim-lit", on && marksOf(node).some((name) => names.includes(name)));
    el.classList.toggle("bim-lighting", on);
    const player = near(all('.bim-mount[data-kind="player"]'), el);
    if (player) player.dataset.lit = on ? names.map((name) => name.slice(MARK.length)).join(" ") : "";
  }

  // What is lit by touch or by a key stays until it is left.
  for (const [word, el] of words) {
    const turn = (on) => light(el, marksOf(word), on);
    const pin = () => {
      word.ariaPressed = word.ariaPressed !== "true";
      turn(word.ariaPressed === "true");
    };
    const leave = () => {
      word.ariaPressed = false;
      turn(false);
    };
    const heard = {
      pointerenter: () => turn(true),
      pointerleave: () => turn(word.ariaPressed === "true"),
      focus: () => turn(true),
      blur: leave,
      click: pin,
      keydown: (event) => {
        if (event.key === "Escape") leave();
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        pin();
      },
    };
    for (const [name, hear] of Object.entries(heard)) word.addEventListener(name, hear);
  }

  for (const { el } of figures) {
    const svg = el.querySelector("svg");
    const pointed = ({ target }) => {
      const mark = target.closest(`[class*="${MARK}"]`);
      light(el, mark ? marksOf(mark) : [], Boolean(mark));
    };
    svg.addEventListener("pointerover", pointed);
    svg.addEventListener("click", pointed);
    svg.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && light(el, [], false));
    document.addEventListener("pointerdown", ({ target }) => {
      if (el.classList.contains("bim-lighting") && !el.contains(target)) light(el, [], false); // a touch elsewhere
    });
  }
})();
