// Python in the page: one worker made from a Blob, the same from a folder and over http, loaded when somebody first asks for it.
// A page from a folder shares no memory with its worker, so only ending the worker stops a loop, and all names are lost with it.
BytesInMotion.python = (() => {
  const SLOW = 90_000; // ms: a start that takes longer has failed; Pyodide's own promise may stay open for ever
  const hearers = new Set();
  const calls = []; // those that wait, in order; the first one is being answered
  const texts = {}; // part -> its pieces, until they are unpacked
  const state = {
    phase: "idle",
    loaded: 0,
    total: 0,
    from: location.protocol === "file:" ? "this folder" : location.host,
  };
  let listed = null; // part -> [path, letters] of each of its pieces
  let prepared = null; // the promise of what a worker is started with
  let begun = null; // the promise that a worker is ready
  let worker = null;

  function tell(changed) {
    Object.assign(state, changed);
    for (const hear of hearers) hear({ ...state });
  }

  async function load([path, letters]) {
    await BytesInMotion.load(path);
    tell({ loaded: state.loaded + letters });
  }

  async function unpacked(part) {
    const letters = atob(texts[part].join(""));
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i); // Uint8Array.from stops the page for half a second
    delete texts[part];
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }

  // Once a page. The WebAssembly is compiled here, so that the worker after a Stop need not compile it again.
  async function prepare() {
    tell({ phase: "loading", loaded: 0 });
    await BytesInMotion.load("python/parts.js");
    const pieces = Object.values(listed).flat();
    tell({ total: pieces.reduce((sum, [, letters]) => sum + letters, 0) });
    const settled = await Promise.allSettled(pieces.map(load)); // all of them: whoever tries again meets none under way
    const missing = settled.find(({ reason }) => reason);
    if (missing) throw missing.reason;
    const [code, wasm, stdlib, library] = await Promise.all(["code", "wasm", "stdlib", "library"].map(unpacked));
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    return { url, boot: { module: await WebAssembly.compile(wasm), stdlib, library } };
  }

  async function start() {
    prepared ??= prepare();
    const { url, boot } = await prepared.catch((error) => {
      prepared = null; // whoever asks again, tries again
      throw error;
    });
    tell({ phase: "starting" });
    const own = (worker = new Worker(url));
    await ready(own, boot);
    own.onmessage = ({ data }) => own === worker && heard(data); // what an ended one still says is nobody's
    own.onerror = ({ message }) => own === worker && broke(message);
  }

  function ready(own, boot) {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`it did not start within ${SLOW / 1000} s`)), SLOW);
      own.fail = (why) => (clearTimeout(late), reject(new Error(why)));
      own.onerror = ({ message }) => own.fail(message || "its worker did not start");
      own.onmessage = ({ data }) => (data.error === undefined ? (clearTimeout(late), resolve()) : own.fail(data.error));
      own.postMessage(boot);
    });
  }

  function end() {
    worker?.terminate();
    worker?.fail("it was stopped");
    [worker, begun] = [null, null];
  }

  function heard({ text, shown, done, dead, ...answer }) {
    if (text !== undefined) calls[0]?.hears.text?.(text);
    else if (shown !== undefined) calls[0]?.hears.shown?.(JSON.parse(shown));
    else if (dead !== undefined) broke(dead);
    else settle(answer, "ready");
  }

  // The interpreter itself has ended, which no error of Python's does to it: the next call finds a new one.
  function broke(why) {
    end();
    settle({ error: `Python broke off, and all names are gone: ${why}` }, "idle");
  }

  function settle(answer, phase) {
    tell({ phase });
    calls.shift()?.resolve(answer);
    if (calls.length) next();
  }

  async function next() {
    const call = calls[0];
    try {
      await (begun ??= start());
    } catch (error) {
      if (call !== calls[0]) return; // it was stopped
      end();
      settle({ error: `Python could not be started: ${error.message}` }, "failed");
      return;
    }
    if (call !== calls[0]) return;
    tell({ phase: "busy" });
    worker.postMessage(call.message);
  }

  // Readies Python before it is asked anything; what fails here is said to the next that asks.
  async function warm() {
    const own = (begun ??= start());
    await own.then(
      () => calls.length || tell({ phase: "ready" }),
      () => begun === own && (begun = null),
    );
  }

  // Whoever waits is told so, and another worker is started at once for whoever asks next.
  function stop() {
    const told = calls.splice(0);
    if (worker) {
      end();
      warm();
    }
    for (const { resolve } of told) resolve({ error: "Stopped", stopped: true });
  }

  function asked(message, hears = {}) {
    return new Promise((resolve) => {
      calls.push({ message, hears, resolve });
      if (calls.length === 1) next();
    });
  }

  return {
    run: (code, name, hears) => asked({ code, name }, hears),
    ask: (path, ...args) => asked({ path, args }),
    stop,
    forget: stop,
    warm,
    // hear({ phase, loaded, total, from }) now and at every change; the result ends that.
    watch(hear) {
      hearers.add(hear);
      hear({ ...state });
      return () => hearers.delete(hear);
    },
    parts(found) {
      listed = found;
    },
    piece(part, number, text) {
      (texts[part] ??= [])[number] = text;
    },
  };
})();
