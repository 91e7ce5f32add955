// pytest under the Python of a page, CPython 3.14 of assets/vendor/pyodide, without a browser: node in_node.cjs REPOSITORY SITE ARGUMENTS...
const path = require("node:path");

const [root, site, ...args] = process.argv.slice(2);
const home = path.join(root, "assets/vendor/pyodide/");
const { loadPyodide } = require(path.join(home, "pyodide.js"));
const info = { abi_version: "2026_0", arch: "wasm32", platform: "emscripten_5_0_3", python: "3.14.2" };
const RUN = `
import os, sys
os.chdir("/repo")
sys.path[:0] = ["/repo", "/repo/tests/pythons", "/site"]
import pytest
int(pytest.main(args, plugins=["lacking"]))
`;

async function run() {
  const python = await loadPyodide({ indexURL: home, lockFileContents: { info, packages: {} } });
  for (const [at, folder] of [["/repo", root], ["/site", site]]) {
    python.FS.mkdirTree(at);
    python.mountNodeFS(at, folder);
  }
  python.globals.set("args", python.toPy(args));
  process.exitCode = python.runPython(RUN);
}

run().catch((error) => {
  console.log(String(error.message).slice(-2000));
  process.exitCode = 3;
});
