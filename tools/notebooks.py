"""`make notebooks`: runs every notebook from a fresh kernel and rewrites it with its outputs, the same bytes every time.

The only way an output gets into a notebook. `python -m tools.notebooks FOLDER_OR_FILE...` Of a lab it also writes the record that
it came to its end here, as tools.labs does.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from tools import labs

CELL_SECONDS = 60
# Comparison figures plot the recorded run, so that the saved notebook does not depend on this machine's speed.
ENVIRONMENT = {"BYTES_IN_MOTION": "recorded"}
# The schema wants a name and a display name; every machine gets these.
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
# A random id of a widget that is gone: without it JupyterLab shows the text/html beside it instead of an error.
WIDGET = "application/vnd.jupyter.widget-view+json"


class NotebookFailed(Exception):
    """A cell raised, ran too long, or wrote to stderr; the message names it."""


def run(path: Path) -> None:
    """Runs one notebook in its own folder and rewrites it. Raises NotebookFailed and leaves the file as it was."""
    notebook = nbformat.read(path, as_version=4)
    is_lab, began = path.parent == labs.NOTEBOOKS, time.monotonic()
    notebook.cells += [nbformat.v4.new_code_cell(labs.ASK)] * is_lab
    with tempfile.TemporaryDirectory(prefix="bim-") as folder:
        manager = AsyncKernelManager(kernel_name="python3")
        if os.name == "posix":  # pipes in a private folder, so no two kernels race for a port
            manager.transport, manager.ip = "ipc", f"{folder}/k"
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=CELL_SECONDS,
            resources={"metadata": {"path": str(path.parent)}},
            record_timing=False,
            store_widget_state=False,
            coalesce_streams=True,
        )
        try:
            # nbclient leaves a manager it is given
            client.execute(env={**ENVIRONMENT, **labs.environment()}, cleanup_kc=True)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as failed:
            raise NotebookFailed(f"{path.name}: {failed}") from None
    asked = notebook.cells.pop() if is_lab else None
    noise = stderr(notebook)
    if noise:
        raise NotebookFailed(f"{path.name}: a cell wrote to stderr, which must stay empty:\n{noise}")
    strip(notebook)
    path.write_text(nbformat.writes(notebook) + "\n")
    if asked:
        record(path.stem, notebook, time.monotonic() - began, asked.outputs[0].text.strip())


def record(lab: str, notebook: nbformat.NotebookNode, seconds: float, label: str) -> None:
    """That it came to its end on this machine's GPUs, or without one."""
    cells = sum(cell.cell_type == "code" for cell in notebook.cells)
    print(labs.recorded(lab, cells, seconds, labs.RECORDED, label, "make notebooks"))


def strip(notebook: nbformat.NotebookNode) -> None:
    """Takes away what differs between machines or editors; cells, outputs, tags and counts stay."""
    meta = notebook.metadata
    meta["kernelspec"] = KERNEL
    meta["language_info"] = {"name": "python"}
    meta.pop("widgets", None)
    for cell in notebook.cells:
        for key in ("execution", "collapsed", "scrolled", "trusted"):
            cell.metadata.pop(key, None)
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output.data.pop(WIDGET, None)


def stderr(notebook: nbformat.NotebookNode) -> str:
    """All that the cells wrote to stderr."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "".join(output["text"] for output in outputs if output.get("name") == "stderr")


def listed(names: list[str]) -> list[Path]:
    """The notebooks that `names` stand for: files, or all those of a folder."""
    paths = [Path(name).resolve() for name in names]
    return [each for path in paths for each in (sorted(path.glob("*.ipynb")) if path.is_dir() else [path])]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.notebooks", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="+", metavar="FILE|FOLDER")
    failed = 0
    for path in listed(parser.parse_args(argv).names):
        start = time.monotonic()
        print(f"{path.name} ...", flush=True)
        try:
            run(path)
        except NotebookFailed as reason:
            failed += 1
            print(reason, file=sys.stderr)
        else:
            print(f"{path.name}: {time.monotonic() - start:.1f} s, {path.stat().st_size / 1000:.1f} kB", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
