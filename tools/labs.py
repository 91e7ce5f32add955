"""Labs from end to end without Jupyter: every code cell, in order, in a fresh Python; and the record that a lab came to its end here.

    python -m tools.labs ring units [--out recorded/labs]        # `all` of them: python -m tools.labs all
    NRANKS=8 python -m tools.labs all                            # without a GPU: the minutes that cards tell, by 2, 4 and 8 ranks

It measures live, as a reader's kernel does, and rewrites no notebook; BYTES_IN_MOTION=recorded is as `make notebooks` has it. A record
says on how many GPUs, when and with which versions. Minutes are recorded on a quiet machine only.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools import gpu_check

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS, RECORDED = ROOT / "notebooks", ROOT / "recorded" / "labs"
NEEDED = gpu_check.NEEDED | {"IPython": "ipython", "plotly": "plotly", "anywidget": "anywidget"}
CELL_SECONDS = 300  # of one cell, measurements and the first start of ranks included: a guard against a hang
BEAT = 10.0  # seconds between two signs of life where the output is a file
TAIL = 25  # lines of a lab's own output that are shown when it fails
ASK = "from helpers.ranks.labs import ran_on\nprint(ran_on())"  # a last cell, for whoever runs a lab elsewhere
CHILD = "import sys; from tools.labs import through; sys.exit(through(*sys.argv[1:]))"


def through(lab: str, out: str) -> int:
    """In a process of its own: the lab's cells in order, then its record. 1 where a cell raised, which is told."""
    cells, busy = code_cells(Path(lab)), _busy()
    os.chdir(Path(lab).parent)
    run, said, began = _shell(), io.StringIO(), time.monotonic()
    alive = _alive(Path(lab).stem, len(cells))
    for number, cell in enumerate(cells, 1):
        alive(number)
        faulthandler.dump_traceback_later(CELL_SECONDS, exit=True)
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            ended = run("".join(cell["source"]), store_history=True).success  # it counts the cells
        if not ended and "raises-exception" not in cell["metadata"].get("tags", []):
            print(*said.getvalue().splitlines()[-TAIL:], f"{Path(lab).stem}: cell {number} failed", sep="\n")
            return 1
    faulthandler.cancel_dump_traceback_later()
    seconds = time.monotonic() - began
    busy = max(busy, _busy())
    print(f"{Path(lab).stem}: {seconds:.0f} s, {recorded(Path(lab).stem, len(cells), seconds, Path(out), busy=busy)}")
    return 0


def _busy() -> float:
    """What other programs take of the processors, where minutes are measured."""
    from helpers.ranks.labs import others

    return others() if "NRANKS" in os.environ else 0.0


def recorded(
    lab: str, cells: int, seconds: float, out: Path, label: str = "", command: str = "", busy: float | None = None
) -> str:
    """Writes a lab's record, and says so in a line. label: of another process that ran it; without, of this one."""
    from helpers.ranks.labs import ran_on, record_lab

    set_to = "".join(f"{name}={os.environ[name]} " for name in ("BYTES_IN_MOTION", "NRANKS") if os.environ.get(name))
    command = command or f"{set_to}python -m tools.labs {lab}"
    return record_lab(lab, label or ran_on(), {"cells": cells, "seconds": round(seconds, 1)}, command, out, busy)


def code_cells(lab: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(lab.read_text())["cells"] if cell["cell_type"] == "code"]


def _shell() -> Callable[..., Any]:
    """IPython's, without a terminal or a history: cells define what ranks are sent, and show their last value, as in a kernel."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors, settings.InteractiveShell.xmode = "NoColor", "Plain"
    return InteractiveShell.instance(config=settings).run_cell


def _alive(lab: str, cells: int) -> Callable[[int], None]:
    """Shows the cell that begins: on a terminal in one line, in a file after a beat of silence."""
    shown = time.monotonic()

    def show(number: int) -> None:
        nonlocal shown
        text = f"{lab}: cell {number} of {cells}"
        if sys.stdout.isatty():
            print(f"\r\033[K{text}", end="\r", flush=True)
        elif time.monotonic() - shown > BEAT:
            print(text, flush=True)
            shown = time.monotonic()

    return show


def listed(names: list[str]) -> list[Path]:
    """The labs of these stems, of "all" all. ValueError for one that is not there."""
    there = {path.stem: path for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    if unknown := [name for name in names if name not in there and name != "all"]:
        raise ValueError(f"no lab {unknown[0]!r}: expected all, or some of {', '.join(there)}")
    return list(there.values()) if "all" in names else [there[name] for name in names]


def main(argv: list[str] | None = None) -> int:
    """0: all came to their end; 1: one did not; 2: nothing could be run."""
    ask = argparse.ArgumentParser(prog="python -m tools.labs", description=__doc__.partition("\n")[0])
    ask.add_argument("labs", nargs="+", metavar="LAB", help="as its page is called, ring; or all")
    ask.add_argument("--out", type=Path, default=RECORDED, help="folder of the records (default: recorded/labs)")
    asked = ask.parse_args(argv)
    try:
        labs = listed(asked.labs)
    except ValueError as wrong:
        print(f"labs: {wrong}", file=sys.stderr)
        return 2
    if why := gpu_check.unfit("labs", NEEDED):
        print(why, file=sys.stderr)
        return 2
    out, began = asked.out.resolve(), time.time()
    failed = [lab.stem for lab in labs if not _ended(lab, out)]
    _join(labs, out, began)
    print(f"{len(labs) - len(failed)} of {len(labs)} ran to their end{', not: ' * bool(failed)}{', '.join(failed)}")
    return 1 if failed else 0


def _join(labs: list[Path], out: Path, began: float) -> None:
    """Their records since then into the file of this machine's GPUs that gpu-check packed beside that folder, if it did."""
    from helpers.ranks.machine.gpus import find_gpus
    from helpers.records.packed import add
    from tools.gpu.nameless import run_name

    gpus = find_gpus().names
    run, paths = out.parent / f"run-{run_name(gpus)}.json.gz", [out / f"{lab.stem}-{len(gpus)}.json" for lab in labs]
    written = [path for path in paths if path.exists() and path.stat().st_mtime >= began]
    if written and run.exists():
        add(run, written)
        print(f"{run} has their records, too")


def environment() -> dict[str, str]:
    """For a lab's process: its `helpers` are these, installed or not."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}


def _ended(lab: Path, out: Path) -> bool:
    """Whether a fresh process came through it."""
    with tempfile.TemporaryDirectory(prefix="bim-") as folder:
        own = environment() | {"IPYTHONDIR": folder}
        code = subprocess.run([sys.executable, "-c", CHILD, str(lab), str(out)], env=own, check=False).returncode
    if code not in (0, 1):
        print(f"{lab.stem}: its process ended ({code})", flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main())
