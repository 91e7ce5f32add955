// A chart's key: what is drawn, a button each. A press takes one away or brings it back, and one always stays.
BytesInMotion.key = (() => {
  const SYMBOLS = {
    circle: "M11 2a4 4 0 1 0 .01 0z",
    square: "M7.5 2.5h7v7h-7z",
    diamond: "M11 1l5 5-5 5-5-5z",
    cross: "M9.5 1.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    x: "M7 3.5L8.5 2 11 4.5 13.5 2 15 3.5 12.5 6 15 8.5 13.5 10 11 7.5 8.5 10 7 8.5 9.5 6z",
    "triangle-up": "M11 1.5l5 8.5H6z",
  };
  const DASHES = { dash: "6 3", dot: "2 3" };
  const HATCH = "M5 4L9 0M5 8L13 0M5 12L17 0M9 12L17 4M13 12L17 8";
  const SVG = "http://www.w3.org/2000/svg";
  const LEFT = "at least one of them stays";

  function path(attributes) {
    const made = document.createElementNS(SVG, "path");
    for (const [name, value] of Object.entries(attributes)) if (value) made.setAttribute(name, value);
    return made;
  }

  const one = (value) => (Array.isArray(value) ? value[0] : value);

  // A bar in small, solid or hatched as it is.
  function patch(colour, hatch) {
    const edge = { d: "M5 0h12v12H5z", fill: hatch ? "none" : colour, stroke: "currentColor", "stroke-width": 0.5 };
    return [hatch && path({ d: HATCH, stroke: colour, "stroke-width": 1.5 }), path(edge)].filter(Boolean);
  }

  // The trace in small: its line as it is dashed, its mark hollow or solid, or the patch of a bar.
  function sample({ type, mode = "", line = {}, marker = {} }) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 22 12");
    svg.setAttribute("aria-hidden", "true");
    const colour = one(marker.color);
    if (type === "bar") svg.append(...patch(colour, one(marker.pattern?.shape)));
    if (mode.includes("lines"))
      svg.append(path({ d: "M0 6h22", stroke: line.color, "stroke-width": 2, "stroke-dasharray": DASHES[line.dash] }));
    if (mode.includes("markers")) {
      const [symbol, kind] = String(one(marker.symbol) ?? "circle").split(/-(?=open|dot)/);
      const fill = kind === "open" ? "none" : colour;
      svg.append(
        path({
          d: SYMBOLS[symbol] ?? SYMBOLS.circle,
          fill,
          stroke: one(marker.line?.color) ?? colour,
          "stroke-width": 1.5,
        }),
      );
    }
    return svg;
  }

  // names: what is in it, in order. hidden: a Set of those taken away; change(): draw again. -> { node, show(traces by name) }
  function key(names, hidden, change) {
    const list = document.createElement("p");
    list.className = "bim-key";
    list.setAttribute("role", "group");
    list.setAttribute("aria-label", "Key");
    const made = names.map((name) => {
      const entry = document.createElement(names.length > 1 ? "button" : "span");
      if (names.length > 1) {
        entry.type = "button";
        entry.addEventListener("click", () => {
          if (!turned(name, names, hidden)) return;
          change();
        });
      }
      entry.append(sample({}), name.replaceAll("<br>", " ")); // as high as it will be
      list.append(entry);
      return entry;
    });
    function show(traces) {
      names.forEach((name, i) => {
        const isShown = !hidden.has(name);
        const isLast = isShown && hidden.size === names.length - 1;
        // of what is hidden plotly knows no colour
        if (isShown) made[i].replaceChildren(sample(traces.get(name)), name.replaceAll("<br>", " "));
        if (names.length < 2) return;
        made[i].setAttribute("aria-pressed", String(isShown));
        made[i].setAttribute("aria-disabled", String(isLast));
        made[i].title = isLast ? LEFT : "";
      });
    }
    return { node: list, show };
  }

  // Takes a name away, or brings it back; the last one stays. -> whether anything changed
  function turned(name, names, hidden) {
    if (hidden.delete(name)) return true;
    if (hidden.size >= names.length - 1) return false;
    hidden.add(name);
    return true;
  }

  return { key, turned };
})();
