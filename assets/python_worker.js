// The worker that runs Python: the build puts this behind Pyodide's own two scripts, and python.js starts it from a Blob.
(() => {
  const EVERY = 50; // ms between two texts: a page that is told of each print does nothing else
  const MANY = 100_000; // letters that do not wait so long
  const ABOUT = { abi_version: "2026_0", arch: "wasm32", platform: "emscripten_5_0_3", python: "3.14.2" };
  // Frames around the reader's own: Pyodide's, those of ASK, and the page's.
  const AROUND =
    / {2}File "(?:\/lib\/python\d+\.zip\/_pyodide|<exec>|\/home\/reader\/helpers\/page\/).*\n(?: {4}.*\n)*/g;
  const ASK = `
import importlib, json, sys
from pyodide.ffi import jsnull

def _own(given):
    if isinstance(given, memoryview):
        return given.tobytes()
    if isinstance(given, dict):
        return {key: _own(value) for key, value in given.items()}
    if given is jsnull:
        return None
    return [_own(one) for one in given] if isinstance(given, list) else given

def _ask(path, args):
    module, _, name = path.partition(":")
    try:
        return '{"value": ' + getattr(importlib.import_module(module), name)(*map(_own, args)) + "}"
    except BaseException as error:
        return json.dumps({"error": f"{type(error).__name__}: {error}"})
`;
  let python;
  let waiting = "";
  let last = 0;

  function say(now) {
    if (!waiting || (!now && performance.now() - last < EVERY)) return;
    postMessage({ text: waiting });
    [waiting, last] = ["", performance.now()];
  }

  function taker() {
    const letters = new TextDecoder();
    return {
      write(bytes) {
        waiting += letters.decode(bytes, { stream: true });
        say(waiting.length > MANY);
        return bytes.length;
      },
    };
  }

  // Pyodide asks for the standard library by fetch, and would compile what is compiled already; afterwards fetch is the worker's again,
  // or a reader's own would be answered with the standard library.
  async function loaded({ module, stdlib }) {
    const { fetch } = self;
    self.fetch = async () => new Response(stdlib);
    WebAssembly.instantiateStreaming = async (_, imports) => {
      const instance = await WebAssembly.instantiate(module, imports);
      return { module, instance };
    };
    const found = await loadPyodide({
      createPyodideModule: _createPyodideModule,
      lockFileContents: { info: ABOUT, packages: {} },
      indexURL: "file:///",
      env: { HOME: "/home/reader", PYTHONHASHSEED: "0" }, // sets of texts in the same order at every start
    });
    self.fetch = fetch;
    return found;
  }

  async function boot(parts) {
    python = await loaded(parts);
    // Nothing else tells that the interpreter has ended; a private name, looked at with every new Pyodide.
    python._api.on_fatal = (error) => postMessage({ dead: String(error.message ?? error) });
    python.setStdout(taker());
    python.setStderr(taker());
    python.setStdin({ error: true });
    python.unpackArchive(parts.library, "zip");
    python.runPython(ASK);
  }

  function show(text) {
    say(true);
    postMessage({ shown: text });
  }

  function run({ code, name }) {
    python.pyimport("helpers.page.outputs").send = show;
    python.pyimport("helpers.page").run(code, name);
  }

  function ask({ path, args }) {
    return JSON.parse(python.globals.get("_ask")(path, python.toPy(args)));
  }

  const told = (error) =>
    String(error.message ?? error)
      .replace(AROUND, "")
      .trimEnd();

  // What was asked, or the error in Python's words; of a block with its traceback.
  function answered(data) {
    try {
      return data.path ? ask(data) : run(data);
    } catch (error) {
      return { error: told(error) };
    }
  }

  self.onmessage = async ({ data }) => {
    if (data.module) {
      postMessage({ error: await boot(data).then(() => undefined, told) });
      return;
    }
    const answer = answered(data);
    python.runPython("sys.stdout.flush(); sys.stderr.flush()");
    say(true);
    postMessage({ done: true, ...answer });
  };
})();
