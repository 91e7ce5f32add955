#!/usr/bin/env bash
# pyodide 314.0.7: data of JavaScript as data of Python, {a: null} by pyodide.toPy.
# Expected: {"a": None}, as json.loads of the same object's JSON gives, since toPy makes Python's own dicts, lists, numbers and texts of it.
# Seen: undefined becomes None, null does not: it becomes jsnull, of class JsNull, which is false, is not None, and yet is written as null
# by json.dumps. So code that asks `value is None` takes its other branch, for data that prints as the same JSON.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder" pyodide@314.0.7
cat > null.mjs <<'JS'
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
const told = python.runPython(`
import json

def told(value):
    return f"{value} | {value['a'] is None} | {json.dumps(value)}"

told
`);
for (const value of [undefined, null]) console.log(told(python.toPy({ a: value })));
console.log(told(python.runPython("import json; json.loads")(JSON.stringify({ a: null }))));
JS
node null.mjs | tee said
diff said - <<'SAID'
{'a': None} | True | {"a": null}
{'a': jsnull} | False | {"a": null}
{'a': None} | True | {"a": null}
SAID
echo "as stated"
