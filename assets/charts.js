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

  const SIZES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

  // "64 MiB" as bytes
  function bytes(text) {
    const [number, unit] = text.split(" ");
    return number * SIZES[unit];
  }

  // Where a column's values stand in a trace; helpers/view/figures/twin.py reads the same.
  const OF = {
    name: (trace, i) => trace.name ?? `line ${i + 1}`,
    x: (trace, _, k) => (trace.x ? trace.x[k] : k),
    end: (trace, _, k) => trace.base[k] + trace.x[k],
    hover: (trace, _, k) => trace.hovertext[k].replace(/^.*?: /, ""),
    text: (trace, _, k) => trace.text?.[k].replaceAll("<br>", " "),
    next: (_, i, k, data) => data[i + 1].y[k],
  };

  function told(value, size) {
    if (!size || value == null) return `${value ?? ""}`;
    return `${+((typeof value === "string" ? bytes(value) : value) / size).toPrecision(12)}`;
  }

  // Every point, all digits: the columns' heads, then a row each.
  function rows({ data, columns }) {
    const valueOf = (of, trace, i, k) =>
      OF[of] ? OF[of](trace, i, k, data) : typeof of === "number" ? trace.customdata[k][of] : trace[of]?.[k];
    const points = data.flatMap((trace, i) => {
      const many = trace.hovertext?.length === 0 ? 0 : Math.max(trace.x?.length ?? 0, trace.y?.length ?? 0);
      return Array.from({ length: many }, (_, k) =>
        columns.map(([, of, size]) => told(valueOf(of, trace, i, k), size)),
      );
    });
    return [columns.map(([head]) => head), ...points];
  }

  function bodyOf(lines) {
    const body = document.createElement("tbody");
    for (const words of lines) {
      const line = body.insertRow();
      for (const word of words) line.insertCell().textContent = word;
    }
    return body;
  }

  // The page without scripts has three digits, and perhaps not every point: on request all of both. See page/sheet.mjs.
  function inFull(table, [, ...points], columns) {
    const { grouped } = BytesInMotion.defined("sheet");
    const [short] = table.tBodies;
    const whole = bodyOf(points.map((words) => words.map((word, i) => (columns[i][2] ? grouped(word) : word))));
    const text = ({ rows: lines }) => [...lines].map(({ cells }) => [...cells].map((cell) => cell.textContent)).join();
    return {
      isMore: () => text(whole) !== text(short),
      turn(isWhole) {
        table.tBodies[0].replaceWith(isWhole ? whole : short);
        if (table.caption) table.caption.hidden = isWhole;
      },
    };
  }

  function numbers(el, spec) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "The numbers";
    details.append(summary, ...el.childNodes);
    const table = details.querySelector("table");
    const all = rows(spec);
    const words = table.caption ? "All points, all digits" : "All digits";
    const shows = inFull(table, all, spec.columns);
    details.append(BytesInMotion.defined("sheet").offers(table, { rows: () => all, shows, words }).node);
    return details;
  }

  async function draw(el, spec) {
    await Promise.all([PLOTLY, "chart-theme.js", "widgets/sheet.js"].map(BytesInMotion.load));
    const box = document.createElement("div");
    box.className = "bim-chart";
    box.id = `chart-${spec.name}`;
    if (spec.layout.height) box.style.minHeight = `${spec.layout.height}px`; // plotly forgets it when the window's width changes
    box.setAttribute("role", "group");
    const title = finding(spec.layout);
    box.setAttribute("aria-label", title.textContent);
    el.replaceChildren(title, box, numbers(el, spec));
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
    rows,
    theme: (value) => {
      theme = value;
    },
  };
})();
