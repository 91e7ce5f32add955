// Draws a chart's data with plotly, in the page's theme, and redraws it when the theme changes.
BytesInMotion.charts = (() => {
  let theme = null; // {light, dark: templates; dark_of: {light hex: dark hex}}
  const PAPER = { width: 720, autosize: false }; // on paper nothing asks again how much room there is
  const PLOTLY = "vendor/plotly-basic/plotly-basic.min.js";

  const isDark = () => document.documentElement.dataset.theme === "dark";

  // A figure is saved with the light theme's colours; on the dark page each stands for its dark twin.
  function recolour(value) {
    if (typeof value === "string") return theme.dark_of[value.toLowerCase()] ?? value;
    if (Array.isArray(value)) return value.map(recolour);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, recolour(inner)]));
    }
    return value;
  }

  function themed({ data, layout: { title, ...layout } }) {
    const dark = isDark();
    const show = dark ? recolour : structuredClone; // plotly writes into what it is given
    const template = structuredClone(dark ? theme.dark : theme.light);
    template.layout.margin.t = 12; // the title stands above, as text that wraps
    return { data: show(data), layout: { ...show(layout), template, autosize: true } };
  }

  function finding({ title }) {
    const line = document.createElement("p");
    line.className = "bim-finding";
    line.textContent = (title?.text ?? title ?? "").replace(/<[^>]+>/g, " ");
    return line;
  }

  function numbers(el) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "The numbers";
    details.append(summary, ...el.childNodes);
    return details;
  }

  async function draw(el, spec) {
    await Promise.all([BytesInMotion.load(PLOTLY), BytesInMotion.load("chart-theme.js")]);
    const box = document.createElement("div");
    box.className = "bim-chart";
    box.id = `chart-${spec.name}`;
    if (spec.layout.height) box.style.minHeight = `${spec.layout.height}px`; // plotly forgets it when the window's width changes
    box.setAttribute("role", "group");
    const title = finding(spec.layout);
    box.setAttribute("aria-label", title.textContent);
    el.replaceChildren(title, box, numbers(el));
    const redraw = () => {
      const { data, layout } = themed(spec);
      if ("paper" in document.documentElement.dataset) Object.assign(layout, { height: 400, ...layout, ...PAPER });
      return Plotly.react(box, data, layout, spec.config);
    };
    await redraw();
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme", "data-paper"] });
  }

  return {
    draw,
    theme: (value) => {
      theme = value;
    },
  };
})();
