// Plays an all_reduce over the map's node: every message is a cell with a slot for each GPU whose numbers are in it, and a GPU fills as its
// sum becomes whole. website/map/run.py tells every step.
(() => {
  const STEP = 900; // ms
  const [WIDE, HIGH, SLOT] = [18, 11, 2]; // units of a message's cell, and of a slot's width
  const REST = 16; // where a message waits beside its GPU
  const figure = document.getElementById("map");
  const bar = figure.querySelector(".bim-map-run");
  const view = figure.querySelector(".bim-map-view");
  const [map] = view.children;
  const { says, inside, done, way } = JSON.parse(bar.dataset.told);
  const [said, play] = [bar.querySelector("p"), bar.querySelector("[data-run=play]")];
  const last = says.length - 1;
  const ranks = inside[0].map((_, rank) => rank);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let [at, playing, flights] = [0, false, []];

  function made(tag, known, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(known)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const rail = (rank) => way.top + way.pitch * rank;
  const place = (x, rank) => `translate(${x}px, ${rail(rank)}px)`;
  const rests = (rank) => place(way.from + REST, rank);
  const box = (x, width, height, known) => made("rect", { x, y: -height / 2, width, height, ...known });
  const slots = () =>
    ranks.map((rank) => box(SLOT * (rank - ranks.length / 2), SLOT, HIGH - 2, { fill: `var(--bim-rank-${rank})` }));
  const cells = ranks.map(() => made("g", {}, box(-WIDE / 2, WIDE, HIGH, { class: "bim-chip", rx: 2 }), ...slots()));
  const sums = ranks.map((rank) => box(way.from - 7, 14, 14, { class: "bim-map-sum", y: rail(rank) - 7 }));
  map.querySelector("a").before(made("g", { class: "bim-map-bytes" }, ...sums, ...cells)); // names stay on top

  const fill = (cell, bits) =>
    ranks.forEach((rank) =>
      cell.children[rank + 1].setAttribute("visibility", (bits >> rank) & 1 ? "inherit" : "hidden"),
    );

  // All at rest, `moment` steps done.
  function show(moment) {
    at = moment;
    flights.forEach((one) => one.cancel());
    flights = [];
    map.style.setProperty("--done", done[at] / ranks.length);
    cells.forEach((cell, rank) => {
      cell.style.transform = rests(rank);
      fill(cell, inside[Math.min(at, last - 1)][rank]);
    });
    tell(at);
  }

  function tell(moment) {
    said.ariaLive = playing && moment < last ? "off" : "polite"; // while it plays, nobody could listen to all of it
    said.textContent = says[moment];
    play.ariaLabel = playing ? "Pause" : "Play";
    bar.toggleAttribute("data-playing", playing);
  }

  // One step: from every GPU to the switch, in it to the next one's rail, and there back to its GPU.
  async function forward() {
    if (at === last) return;
    const next = at + 1;
    if (calm.matches) {
      show(next);
      return;
    }
    tell(next);
    flights = cells.map((cell, rank) => {
      const to = (rank + 1) % ranks.length;
      const stops = [rests(rank), place(way.switch, rank), place(way.switch, to), rests(to)];
      const offsets = [0, 0.38, 0.62, 1];
      const frames = stops.map((transform, i) => ({ transform, offset: offsets[i] }));
      return cell.animate(frames, { duration: STEP, easing: "ease-in-out" });
    });
    const landed = await Promise.all(flights.map(({ finished }) => finished)).catch(() => null); // somebody stepped on
    if (landed) show(next);
  }

  const still = (ms) => new Promise((then) => setTimeout(then, ms));
  async function run() {
    while (playing && at < last) {
      const before = at;
      await forward();
      await still(calm.matches ? STEP : STEP / 6);
      if (playing && at !== before + 1) return; // another run goes on from there
    }
    playing = false;
    tell(at);
  }

  // Who plays, sees it: the whole figure, and on a telephone the node.
  function look() {
    figure.scrollIntoView({ block: "nearest" });
    const scale = map.clientWidth / map.viewBox.baseVal.width;
    const [left, right] = [(way.from - 12) * scale, (way.switch + 12) * scale];
    if (left < view.scrollLeft || right > view.scrollLeft + view.clientWidth)
      view.scrollTo({ left: (left + right - view.clientWidth) / 2 });
  }

  function rest(moment) {
    playing = false;
    show(moment);
  }

  const deeds = {
    back: () => rest(Math.max(0, at - 1)),
    forward: () => {
      if (flights.length) rest(Math.min(last, at + 1));
      else forward();
    },
    play: () => {
      playing = !playing;
      if (!playing) show(at);
      else {
        if (at === last) show(0);
        run();
      }
    },
  };
  const keys = { ArrowLeft: deeds.back, ArrowRight: deeds.forward };
  function does(deed) {
    look();
    deed();
  }
  bar.addEventListener("click", ({ target }) => {
    const deed = deeds[target.closest("button")?.dataset.run];
    if (deed) does(deed);
  });
  bar.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    does(keys[event.key]);
  });
  show(0);
})();
