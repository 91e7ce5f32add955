// Mounts widgets and charts without a kernel. Everything arrives by plain scripts, so a page works from file:// too.
const BytesInMotion = (() => {
  const base = document.currentScript.src.replace(/[^/]*$/, "");
  const scripts = new Map();
  const widgets = new Map();
  const tables = new Map(); // "collective/algorithm" -> {"P" or "P.n": trace}, n: chunks, slices or GPUs per node
  const memories = new Map(); // name of a recorded trace of memory -> the traces
  const drawn = new Map(); // mount -> the promise that it is drawn
  const known = {}; // name -> what widgets of the page must know before they are drawn
  const NEAR = "300px"; // how far below the window a mount is readied
  const PACKED = /(\d+)\.\.(\d+)\/(\d+)(:\S+)/g; // "0..6/2:1→3": chunks 0, 2, 4 and 6 go the same way

  function unpack(_, first, last, apart, way) {
    return Array.from({ length: (last - first) / apart + 1 }, (__, i) => `${+first + i * apart}${way}`).join(" ");
  }

  function load(path) {
    if (!scripts.has(path))
      scripts.set(
        path,
        new Promise((resolve, reject) => {
          const script = document.createElement("script");
          script.src = base + path;
          script.onload = resolve;
          script.onerror = () => {
            scripts.delete(path); // whoever asks again, tries again
            reject(new Error(`${path} could not be loaded`));
          };
          document.head.append(script);
        }),
      );
    return scripts.get(path);
  }

  // The part of anywidget's model that a widget uses: get, set, on, off, save_changes. Setting `spec` asks for a trace.
  function makeModel(state) {
    const hearers = new Map();
    let asked = null;
    const model = {
      get: (key) => state[key],
      set(key, value) {
        if (state[key] === value) return;
        state[key] = value;
        for (const hear of hearers.get(`change:${key}`) ?? []) hear(model, value);
      },
      on(event, hear) {
        hearers.set(event, [...(hearers.get(event) ?? []), hear]);
      },
      off(event, hear) {
        hearers.set(
          event,
          (hearers.get(event) ?? []).filter((other) => other !== hear),
        );
      },
      async save_changes() {
        if (state.spec === asked) return;
        asked = state.spec;
        const trace = await traceOf(asked);
        if (state.spec === asked) model.set("trace", trace); // an answer that comes late is dropped
      },
    };
    return model;
  }

  // Of a widget that shows no schedule: nothing. With a second algorithm beside it, that one's trace under "versus".
  async function traceOf(spec) {
    if (spec.trace) return spec.trace; // small enough to travel inside its spec
    if (spec.show) return remembered(spec);
    if (!spec.schedule && !(spec.collective && spec.algorithm)) return undefined;
    const { schedule: text, before, after, factor, promise } = spec; // not in the catalogue: it travels inside its spec
    const [own, versus] = await Promise.all([
      text ? { text, before, after, factor, promise } : lookUp(spec),
      spec.rival && lookUp(spec.rival),
    ]);
    return own.error || !versus ? own : versus.error ? versus : { ...own, versus };
  }

  // Of a trace of memory that is compared with another: that one under "against".
  async function remembered({ show, against }) {
    await Promise.all([show, against].filter(Boolean).map((name) => load(`memory/${name}.js`)));
    return against ? { ...memories.get(show), against: memories.get(against) } : memories.get(show);
  }

  async function lookUp({ collective, algorithm, nranks, nchunks, slices, gpus }) {
    const path = `${collective}/${algorithm}`;
    const entry = known.catalogue.find((one) => one.collective === collective && one.algorithm === algorithm);
    if (entry) await load(`schedules/${path}.js`);
    const n = nchunks ?? slices ?? (entry?.gpus && gpus);
    const key = n == null ? `${nranks}` : `${nranks}.${n}`;
    const found = tables.get(path)?.[key];
    if (found) return { ...found, text: found.text.replace(PACKED, unpack) };
    return { error: `no schedule of ${collective} by ${algorithm} for ${key} ranks` };
  }

  async function knowing(name) {
    if (!(name in known)) await load(`known/${name}.js`);
    return known[name];
  }

  // A widget needs some of what can be known always, and some for what it shows.
  async function mountWidget(el, kind, spec) {
    await load(`widgets/${kind}.js`);
    const { brings = {} } = spec;
    const { widget, needs } = widgets.get(kind);
    const names = [...needs, ...(widget.needs?.(spec) ?? [])];
    await Promise.all(names.filter((name) => !(name in brings)).map(knowing));
    const model = makeModel({ ...known, ...brings, spec, step: spec.step ?? 0 });
    model.set("trace", await traceOf(spec));
    el.replaceChildren();
    widget.render({ model, el });
  }

  async function mountChart(el, spec) {
    await load("charts.js");
    await BytesInMotion.charts.draw(el, spec);
  }

  async function mount(el) {
    const { kind, spec } = el.dataset;
    try {
      const mountKind = kind === "chart" ? mountChart : (box, value) => mountWidget(box, kind, value);
      await mountKind(el, JSON.parse(spec));
      el.dataset.mounted = "";
    } catch (error) {
      el.dataset.failed = ""; // the readable fallback stays
      throw error;
    }
  }

  // Each mount once, whoever asks for it. -> the promise that it is drawn
  function ready(el) {
    if (!drawn.has(el)) drawn.set(el, mount(el));
    watcher.unobserve(el);
    return drawn.get(el);
  }

  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) ready(target);
      }
    },
    { rootMargin: `${NEAR} 0px` },
  );
  document.querySelectorAll(".bim-mount").forEach((el) => watcher.observe(el));

  return {
    load,
    known: knowing,
    mount: ready,
    // Paper cannot be scrolled: settles when every mount is drawn, or has failed and keeps its fallback.
    all: () => Promise.allSettled([...document.querySelectorAll(".bim-mount")].map(ready)),
    define: (kind, widget, ...needs) => widgets.set(kind, { widget, needs }),
    defined: (kind) => widgets.get(kind).widget,
    schedules: (collective, algorithm, traces) => tables.set(`${collective}/${algorithm}`, traces),
    memory: (name, traces) => memories.set(name, traces),
    know: (name, value) => {
      known[name] = value;
    },
  };
})();
