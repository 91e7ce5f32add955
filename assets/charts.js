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
    // what an axis shows is said as small as its ticks, and apart from them
    for (const axis of ["xaxis", "yaxis"]) template.layout[axis].title = { font: { size: 13 }, standoff: 10 };
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

  // The page without scripts has three digits, and perhaps not every point: on request all of both. See page/tools.mjs.
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

  const NEEDS = [PLOTLY, "chart-theme.js", "widgets/sheet.js", "charts/ends.js", "charts/points.js", "charts/key.js"];
  const STILL = { dragmode: false, showlegend: false }; // names stand at the lines' ends or in the key; a drag scrolls the page
  const QUIET = { showTips: false, doubleClick: false, responsive: false }; // nothing pops up, and we ask for room ourselves
  const HIGH = 400;

  function boxFor({ name }, label) {
    const box = document.createElement("div");
    box.className = "bim-chart";
    box.id = `chart-${name}`;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", label);
    return box;
  }

  const TICK = 54; // px that the name of a tick needs
  const TOP = 12;
  const NARROW = 200; // px of a plot in which a sentence has no room,
  const WORDY = 64; // and of its rows there

  // Names of ticks stay level: where they are too many for the width, every second or third is left.
  function levelled({ tickvals, ticktext, ...axis }, width) {
    if (!tickvals || axis.type === "category") return { ...axis, ...(tickvals && { tickvals, ticktext }) };
    const step = Math.ceil((tickvals.length * TICK) / width) || 1;
    const left = (all) => all.filter((_, i) => i % step === 0);
    return { ...axis, tickangle: 0, tickvals: left(tickvals), ticktext: left(ticktext) };
  }

  // Names that stand at a line's end, and words at points, are not plotly's to draw.
  function withoutWords(trace, given, isEnd) {
    const isOurs = BytesInMotion.points.isSided(given) || (isEnd && given.text?.includes(given.name));
    return isOurs ? { ...trace, mode: trace.mode.replace("+text", "") } : trace;
  }

  // Where the plot is narrow, words beside a line across it go under the line, in short rows: above it runs the curve.
  function narrowed(notes, plot, font) {
    if (!notes || plot > NARROW) return notes;
    const short = (text) =>
      BytesInMotion.ends.broken(text.replaceAll("<br>", " "), WORDY, BytesInMotion.ends.widthIn(font)).join("<br>");
    return notes.map((note) => (note.xref === "paper" ? { ...note, text: short(note.text), yanchor: "top" } : note));
  }

  // What the reader is asked to draw first (assets/guess/predict.js), where he guesses: lines, or bars by the names of their rows. One
  // name may stand for "NAME, prediction" and "NAME, recorded".
  const toBeDrawn = (chart) =>
    document.documentElement.dataset.reading === "guess"
      ? [...document.querySelectorAll(".bim-predict:not([data-told])")]
          .map(({ dataset }) => JSON.parse(dataset.guess))
          .flatMap((asked) => (asked.chart === chart ? [asked.line] : []))
      : [];

  const without = (trace, rows) =>
    trace.x?.length && trace.y?.some((row) => rows.includes(row))
      ? { ...trace, x: trace.x.map((x, i) => (rows.includes(trace.y[i]) ? null : x)) }
      : trace;

  // What plotly is given: room for names at the right, what the reader took away, no words that we draw.
  function arranged(spec, { width: seen, height, ends, keys, hidden }) {
    const isPaper = "paper" in document.documentElement.dataset;
    const width = isPaper ? PAPER.width : seen;
    const { data, layout } = themed(spec);
    const names = ends.map((i) => data[i].name.replaceAll("<br>", " "));
    const { rows, margin } = BytesInMotion.ends.measured(names, width, layout.template.layout.font.family);
    const room = { ...layout.margin, ...(margin && { r: margin }), ...(keys.length && { t: TOP }) };
    const plot = width - (room.l ?? 56) - (room.r ?? 16);
    const asked = toBeDrawn(spec.name);
    const shown = data.map((trace, i) => ({
      ...without(withoutWords(trace, spec.data[i], ends.includes(i)), asked),
      ...((hidden.has(trace.name) || asked.some((name) => `${trace.name},`.startsWith(`${name},`))) && {
        visible: false,
      }),
    }));
    const whole = {
      ...layout,
      ...STILL,
      margin: room,
      ...(isPaper ? PAPER : { width, autosize: false }),
      height,
      xaxis: levelled(layout.xaxis ?? {}, plot),
      annotations: narrowed(layout.annotations, plot, layout.template.layout.font.family),
    };
    return { data: shown, layout: whole, rows };
  }

  async function draw(el, spec) {
    await Promise.all([...NEEDS.map(BytesInMotion.load), document.fonts.ready]); // names are measured in their letters
    const title = finding(spec.layout);
    const box = boxFor(spec, title.textContent);
    const hidden = new Set();
    const { ends, keys } = BytesInMotion.ends.parted(spec);
    const key = BytesInMotion.key.key([...new Set(keys.map((i) => spec.data[i].name))], hidden, () => later());
    el.replaceChildren(title, ...(keys.length ? [key.node] : []), box, numbers(el, spec));
    const wordy = spec.data.flatMap((trace, i) => (BytesInMotion.points.isSided(trace) ? [i] : []));
    let [width, rows, drawn] = [0, [], Promise.resolve()];
    const name = () => BytesInMotion.points.place(box, spec.data, wordy, BytesInMotion.ends.place(box, ends, rows));
    // Key and picture are together as high as the picture alone would be, also while it waits to be drawn anew.
    function fit() {
      const height = (spec.layout.height ?? HIGH) - key.node.offsetHeight;
      box.style.height = `${height}px`;
      return height;
    }
    async function redraw() {
      width = box.clientWidth;
      const height = fit();
      const given = arranged(spec, { width, height, ends, keys, hidden });
      ({ rows } = given);
      await Plotly.react(box, given.data, given.layout, { ...spec.config, ...QUIET });
      key.show(new Map(keys.toReversed().map((i) => [spec.data[i].name, box._fullData[i]])));
      name();
    }
    await redraw();
    box.on("plotly_afterplot", name);
    const later = () => {
      drawn = drawn.then(redraw);
    };
    new MutationObserver(later).observe(document.documentElement, {
      attributeFilter: ["data-theme", "data-paper", "data-reading"],
    });
    document.addEventListener("bim-told", () => later());
    new ResizeObserver(() => {
      if (!box.clientWidth || box.clientWidth === width) return;
      fit();
      later();
    }).observe(box);
  }

  return {
    draw,
    rows,
    theme: (value) => {
      theme = value;
    },
  };
})();
