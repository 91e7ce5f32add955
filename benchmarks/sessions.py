"""One launcher's round: three kernels, and the seconds of everything that a reader waits for in them."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from .launchers import FAILED, PRODUCT, Launcher
from .notebook import CellFailed, Notebook

ROWS = {
    "first cell": "of a notebook: imports, start, first sums",
    "cold": "torch is imported: start to first sums",
    "lab": "the same, 4 s after a first cell that prepares it, as every lab's does, where it can be prepared",
    "used": "as cold, after a product of matrices in the notebook, and with one on every rank",
    "relaunch": "end the ranks, start again, first sums",
    "call": "one that does nothing",
    "reduce": "a call with an all_reduce",
}
PREPARED = 4.0  # seconds between a lab's first cell and its first ranks
EACH = """
import json, time
def each(call, times):
    found = []
    for _ in range(times):
        start = time.perf_counter(); call(); found.append(time.perf_counter() - start)
    print('TIMES', json.dumps(found))
"""
LIMIT = 60.0  # seconds without an answer, after which a launcher is taken to hang
RELAUNCHES = 2
Times = dict[str, float | str]  # a row's seconds, or why there are none


@contextmanager
def kernel(python: str, whole: dict[str, str] | None = None) -> Iterator[Notebook]:
    """A kernel with a folder of its own; nothing of both is left afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        notebook = Notebook(python, Path(folder), whole)
        try:
            yield notebook
        finally:
            notebook.close()


def empty_cell(python: str, times: int = 30) -> float:
    """Seconds that Jupyter takes for a cell in which nothing happens."""
    with kernel(python) as notebook:
        return median(notebook.run("pass")[0] for _ in range(times))


class Session:
    """A launcher's cells, for so many ranks. known: rows that failed before, and are not waited for again."""

    def __init__(self, python: str, launcher: Launcher, nranks: int, known: Times):
        self.python, self.nranks, self.known = python, nranks, known
        self.launcher, self.used = launcher.cells(nranks), launcher.cells(nranks, product=True)

    def times(self) -> Times:
        """Every row's seconds."""
        ours = self.launcher
        used = f"{self.used.imports}\nimport torch; {PRODUCT}"
        found = self._or_why(("first cell",), lambda: self._started("", f"{ours.imports}\n{ours.start}"))
        found |= self._or_why(("used",), lambda: self._started(used, self.used.start))
        found |= self._or_why(("cold", "relaunch", "call", "reduce"), self._warm)
        if not ours.prepare:
            return found | {"lab": found["cold"]}
        lab = f"import torch\n{ours.imports}\n{ours.prepare}"
        return found | self._or_why(("lab",), lambda: self._started(lab, ours.start, PREPARED))

    def _or_why(self, rows: tuple[str, ...], measured: Callable[[], list[float]]) -> Times:
        if rows[0] in self.known:
            return {row: self.known[row] for row in rows}
        try:
            return dict(zip(rows, measured(), strict=True))
        except CellFailed as failed:
            return dict.fromkeys(rows, str(failed))

    def _started(self, before: str, start: str, between: float = 0.0) -> list[float]:
        with kernel(self.python) as notebook:
            self._run(notebook, f"{EACH}\n{before}")
            time.sleep(between)
            took = self._run(notebook, start)
            self._run(notebook, self.launcher.end)
            return [took]

    def _warm(self) -> list[float]:
        with kernel(self.python) as notebook:
            self._run(notebook, f"{EACH}\nimport torch, torch.distributed\n{self.launcher.imports}")
            cold = self._run(notebook, self.launcher.start)
            again = median(self._run(notebook, self.launcher.again) for _ in range(RELAUNCHES))
            calls = [self._calls(notebook, code) for code in (self.launcher.call, self.launcher.reduce)]
            self._run(notebook, self.launcher.end)
            return [cold, again, *calls]

    def _run(self, notebook: Notebook, code: str) -> float:
        return notebook.run(code, LIMIT, FAILED)[0]

    def _calls(self, notebook: Notebook, code: str) -> float:
        """The median of many, timed inside one cell."""
        first = "each(call, 1); " if self.launcher.calls > 1 else ""  # a launch is always a first
        cell = f"def call(): {code}\n{first}each(call, {self.launcher.calls})"
        _, text = notebook.run(cell, LIMIT + 10 * self.launcher.calls, FAILED)
        return median(json.loads(text.rpartition("TIMES")[2].partition("]")[0] + "]"))


class WholeSession(Session):
    """The same where the kernel itself is the ranks: they start with it, whatever went before, and a call is a cell."""

    def times(self) -> Times:
        return self._or_why(tuple(ROWS), self._all)

    def _all(self) -> list[float]:
        whole = {"JUPYTER_DISTRIBUTED_WORLD_SIZE": str(self.nranks), "JUPYTER_DISTRIBUTED_BASE_KERNEL": "python3"}
        began = time.perf_counter()
        with kernel(self.python, whole) as notebook:
            self._run(notebook, self.launcher.start)
            started = time.perf_counter() - began
            again = median(self._restarted(notebook) for _ in range(RELAUNCHES))
            calls = [self._calls(notebook, code) for code in (self.launcher.call, self.launcher.reduce)]
        return [started] * 4 + [again, *calls]

    def _restarted(self, notebook: Notebook) -> float:
        began = time.perf_counter()
        notebook.restart()
        self._run(notebook, self.launcher.again)
        return time.perf_counter() - began

    def _calls(self, notebook: Notebook, code: str) -> float:
        """The median of many cells, less what Jupyter takes for an empty one."""
        took = median(self._run(notebook, code) for _ in range(self.launcher.calls))
        return max(0.0, took - empty_cell(self.python))
