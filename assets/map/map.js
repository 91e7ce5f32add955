// Zooms the map: buttons, + - 0, the wheel with Ctrl (as a touchpad's pinch says it), two fingers. Its box pans as any box that scrolls,
// and under a mouse that drags it; from a place arrow keys lead to the nearest one on their side.
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
  function toward([across, down], from) {
    const middle = (place) => place.querySelector("circle").getBoundingClientRect();
    const { x, y } = middle(from);
    const far = [...map.querySelectorAll("a")].map((place) => {
      const [dx, dy] = [middle(place).x - x, middle(place).y - y];
      const along = dx * across + dy * down;
      return [along > 1 ? along + 2 * Math.abs(dx * down + dy * across) : Infinity, place];
    });
    const [least, place] = far.sort(([a], [b]) => a - b)[0];
    if (least < Infinity) place.focus();
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

  let drag = null; // where a mouse took hold of it
  view.addEventListener("pointerdown", ({ pointerType, button, clientX, clientY }) => {
    if (pointerType === "mouse" && button === 0 && "zoomed" in view.dataset)
      drag = { x: clientX + view.scrollLeft, y: clientY + view.scrollTop, moved: false, clientX, clientY };
  });
  window.addEventListener("pointermove", ({ clientX, clientY }) => {
    if (!drag) return;
    drag.moved ||= Math.hypot(clientX - drag.clientX, clientY - drag.clientY) > 4;
    if (drag.moved) view.scrollTo({ left: drag.x - clientX, top: drag.y - clientY, behavior: "instant" });
  });
  window.addEventListener("pointerup", () => setTimeout(() => (drag = null)));
  view.addEventListener("dragstart", (event) => event.preventDefault()); // of a link
  view.addEventListener("click", (event) => drag?.moved && event.preventDefault());

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
