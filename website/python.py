"""Python for the page: Pyodide and the library, packed at build time into plain scripts that also load from a folder.

A part (the interpreter's code, its WebAssembly, the standard library, ours) is gzipped, written in base64 and cut into pieces, so that
the page can say how much it has; a piece is a script that calls `BytesInMotion.python.piece`. Chromium starts no module worker from a
page that lies in a folder, and Pyodide ships a module: three replacements make it a classic script, and each must be found.
"""

import base64
import gzip
import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx

from website.scripts import call, write

ROOT = Path(__file__).resolve().parent.parent
PYODIDE = ROOT / "assets" / "vendor" / "pyodide"
WORKER = ROOT / "assets" / "python_worker.js"
PIECE = 2**19  # letters of base64 in one script
CLASSIC = {"export default _createPyodideModule;": "", "import.meta.url": '"file:///"'}
# By the lack of which Pyodide knows, and refuses, a classic worker.
FIRST = '"use strict"; self.importScripts = undefined;'
# Of ours: whatever runs without torch and without ranks, and the files that it reads.
ROOMS = (
    *("facts", "collectives", "nccl", "memory", "hlo", "pipeline", "overlap", "context", "ledger", "records", "yours"),
    *("exercises", "view", "page"),
)
LIBRARY = (
    "helpers/*.py",
    *(f"helpers/{room}/**/*.{kind}" for room in ROOMS for kind in ("py", "toml", "json")),
    *(f"recorded/{name}.json" for name in ("public/*", "memory/*", "from/*/memory/*", "memory-predictions", "trace-*")),
    *("recorded/holds-cpu.json", "recorded/timeline-cpu.json"),
    "assets/tokens.json",
)


def interpreter() -> bytes:
    """Pyodide's two scripts and our own as the text of one classic worker."""
    code = (PYODIDE / "pyodide.asm.mjs").read_text(encoding="utf-8")
    for module, classic in CLASSIC.items():
        if module not in code:
            raise ValueError(f"pyodide.asm.mjs holds no {module!r}: look at what this version of Pyodide does instead")
        code = code.replace(module, classic)
    loader = (PYODIDE / "pyodide.js").read_text(encoding="utf-8").rsplit("//# sourceMappingURL", 1)[0]
    return f"{FIRST}{code}\n{loader}\n{WORKER.read_text(encoding='utf-8')}".encode()


def library(root: Path = ROOT) -> bytes:
    """The files of LIBRARY as a zip, the same bytes whenever they are the same files."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as out:
        for path in sorted({path for pattern in LIBRARY for path in root.glob(pattern)}):
            entry = zipfile.ZipInfo(path.relative_to(root).as_posix())
            out.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return held.getvalue()


@cache
def parts() -> dict[str, str]:
    """name -> gzipped, in base64: code, wasm, stdlib, library."""
    raw = {
        "code": interpreter(),
        "wasm": (PYODIDE / "pyodide.asm.wasm").read_bytes(),
        "stdlib": (PYODIDE / "python_stdlib.zip").read_bytes(),
        "library": library(),
    }
    return {name: base64.b64encode(gzip.compress(data, 9, mtime=0)).decode() for name, data in raw.items()}


def pieces(name: str, text: str) -> Iterator[tuple[str, str]]:
    """(path, script) of each piece. What changes gets another name, so that no page joins pieces of two builds."""
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    for number, start in enumerate(range(0, len(text), PIECE)):
        script = call("python.piece", name, number, text[start : start + PIECE])
        yield f"python/{name}-{mark}-{number}.js", script


def python_files() -> dict[str, str]:
    """Every script under _static/python: the pieces, and parts.js, which lists them as [path, letters] by part."""
    cut = {name: dict(pieces(name, text)) for name, text in parts().items()}
    listed = {name: [[path, len(script)] for path, script in own.items()] for name, own in cut.items()}
    files = {path: script for own in cut.values() for path, script in own.items()}
    return {"python/parts.js": call("python.parts", listed), **files}


def write_python(app: Sphinx, exception: Exception | None) -> None:
    """Python as scripts that a page loads when its reader asks for it."""
    write(app, exception, python_files())


def setup(app: Sphinx) -> dict[str, bool]:
    """The scripts, once the pages are written."""
    app.connect("build-finished", write_python)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
