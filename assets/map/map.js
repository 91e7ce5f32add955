// Zooms the map: buttons, + - 0, the wheel with Ctrl (as a touchpad's pinch says it), two fingers. Its box pans as any that scrolls, and
// by the mouse; arrow keys lead from place to place.
(() => {
  const MOST = 4;
  const figure = document.getElementById("map");
  const view = figure.querySelector(".bim-map-view");
  const [map] = view.children;
  let zoom = 1;
  figure.dataset.zooms = ""; // the buttons show

  // On a telephone the whole map is smaller than its letters want.
  const least = () => Math.min(1, (view.clientWidth * zoom) / map.clientWidth);

  // The place under (x, y) of the window stays there.
  function zoomTo(wanted, x, y) {
    const box = view.getBoundingClientRect();
    const next = Math.min(MOST, Math.max(least(), wanted));
    const [dx, dy] = [(x ?? box.left + box.width / 2) - box.left, (y ?? box.top + box.height / 2) - box.top];
    const [across, down] = [(view.scrollLeft + dx) / map.clientWidth, (view.scrollTop + dy) / map.clientHeight];
    view.style.height = next === 1 ? "" : `${map.getBoundingClientRect().height / zoom}px`; // what stands below stays
    zoom = next;
    map.style.setProperty("--zoom", zoom);
    view.toggleAttribute("data-zoomed", zoom > 1);
    if (zoom > 1) view.tabIndex = 0; // arrows pan it
    view.scrollTo({ left: across * map.clientWidth - dx, top: down * map.clientHeight - dy, behavior: "instant" });
  }

  const ways = { in: () => zoomTo(zoom * 1.5), out: () => zoomTo(zoom / 1.5), whole: () => zoomTo(least()) };
  const SIDES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const keys = { "+": ways.in, "=": ways.in, "-": ways.out, 0: ways.whole };
  figure.addEventListener("click", ({ target }) => ways[target.dataset.zoom]?.());
  const box = (place) => place.firstChild.getBoundingClientRect(); // of its dot
  function toward([across, down], from) {
    const [{ x, y }, places] = [box(from), [...map.querySelectorAll("a")]];
    const far = places.map((place) => {
      const [dx, dy] = [box(place).x - x, box(place).y - y];
      const along = dx * across + dy * down;
      return along > 1 ? along + 2 * Math.abs(dx * down + dy * across) : Infinity;
    });
    const least = Math.min(...far);
    if (least < Infinity) places[far.indexOf(least)].focus();
  }

  figure.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const from = event.target.closest("svg a");
    if (from && SIDES[event.key]) {
      event.preventDefault();
      toward(SIDES[event.key], from);
    }
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  view.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoomTo(zoom * Math.exp(-event.deltaY / 200), event.clientX, event.clientY);
    },
    { passive: false },
  );

  let moved = 0; // by the mouse that holds it
  const still = (event) => event.preventDefault();
  view.addEventListener("mousedown", () => (moved = 0));
  view.addEventListener("mousemove", ({ buttons, movementX: x, movementY: y }) => {
    if (buttons !== 1 || zoom <= 1) return;
    moved += Math.abs(x) + Math.abs(y);
    view.scrollBy({ left: -x, top: -y, behavior: "instant" });
  });
  view.addEventListener("dragstart", still); // of a link
  view.addEventListener("click", (event) => event.detail && moved > 4 && still(event));

  let apart = 0; // the two fingers, when they were looked at last
  view.addEventListener(
    "touchmove",
    (event) => {
      if (event.touches.length !== 2) return;
      event.preventDefault();
      const [a, b] = event.touches;
      const now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
      if (apart) zoomTo((zoom * now) / apart, (a.clientX + b.clientX) / 2, (a.clientY + b.clientY) / 2);
      apart = now;
    },
    { passive: false },
  );
  view.addEventListener("touchend", () => {
    apart = 0;
  });
})();
